#include "core/hash.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <fstream>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"

namespace fedstride {

void Hash::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Hash::Hash() : context_(EVP_MD_CTX_new()) {
  static const EVP_MD* const kSha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);  // EVP_sha256() is looked up at each use
  if (!context_ || EVP_DigestInit_ex(context_.get(), kSha256, nullptr) != 1)
    throw failure("SHA-256 is not available in this OpenSSL");
}

Hash& Hash::bytes(const void* data, std::size_t size) {
  EVP_DigestUpdate(context_.get(), data, size);
  return *this;
}

std::array<std::uint8_t, 32> Hash::digest() {
  std::array<std::uint8_t, 32> digest{};
  EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
  return digest;
}

std::string Hash::hex() { return hex_of(digest()); }

std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::array<std::uint8_t, 32> hmac_sha256(std::string_view key, std::string_view message) {
  std::array<std::uint8_t, 32> code{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(message.data()),
           message.size(), code.data(), &size) == nullptr ||
      size != code.size())
    throw failure("HMAC with SHA-256 is not available in this OpenSSL");
  return code;
}

std::string model_hash(const Vector& parameters) { return Hash().values(view(parameters)).hex(); }

std::string file_sha256(const std::filesystem::path& path) {
  std::ifstream file = opened_stream(path);
  Hash hash;
  std::vector<char> buffer(std::size_t{1} << 18);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0)
    hash.bytes(buffer.data(), static_cast<std::size_t>(file.gcount()));
  if (file.bad()) throw failure("cannot read '" + path.string() + "'");
  return hash.hex();
}

}  // namespace fedstride
