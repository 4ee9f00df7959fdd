#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/vector.hpp"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace fedstride {

/// The SHA-256 of everything fed to it.
class Hash {
 public:
  Hash();

  Hash& bytes(const void* data, std::size_t size);
  Hash& text(std::string_view text) { return bytes(text.data(), text.size()); }
  template <class T>
  requires std::is_trivially_copyable_v<T> Hash& values(std::span<const T> values) {
    return bytes(values.data(), values.size_bytes());
  }
  template <class T>
  requires std::is_arithmetic_v<T> Hash& value(T number) { return bytes(&number, sizeof number); }

  /// The hash as 32 bytes or as 64 hexadecimal digits; nothing may be fed afterwards.
  std::array<std::uint8_t, 32> digest();
  std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

/// Two hexadecimal digits per byte.
std::string hex_of(std::span<const std::uint8_t> bytes);

/// HMAC-SHA256 of a message under a key (RFC 2104).
std::array<std::uint8_t, 32> hmac_sha256(std::string_view key, std::string_view message);

/// SHA-256 of a file, not unpacked. Throws Error (failure) if it cannot be read.
std::string file_sha256(const std::filesystem::path& path);

/// Identifies a model: the SHA-256 of its parameters' bits.
std::string model_hash(const Vector& parameters);

}  // namespace fedstride
