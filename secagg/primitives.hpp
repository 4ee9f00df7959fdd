#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

struct evp_cipher_ctx_st;  // OpenSSL's EVP_CIPHER_CTX
struct evp_pkey_st;        // OpenSSL's EVP_PKEY

namespace fedstride::secagg {

using Bytes32 = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

/// 32 secret bytes, wiped on destruction.
struct Secret {
  Bytes32 bytes{};
  Secret() = default;
  explicit Secret(const Bytes32& from) : bytes(from) {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;
  ~Secret();
};

/// Overwrites secret bytes irreversibly.
void wipe(std::span<std::uint8_t> bytes);
void wipe(std::string& bytes);

/// HKDF-SHA256 (RFC 5869), 32 bytes. Equal inputs with different `info` give independent keys.
Secret derived(const Secret& input, std::string_view salt, std::string_view info);

/// Describes a public key of small order in messages about its sender.
inline constexpr const char* kSmallOrder = "a key of small order, with which every shared secret is known";

/// A private key of X25519 (RFC 7748); any 32 bytes are one. OpenSSL computes its public half when it is made, which costs as much as
/// an exchange: make it once for many.
class ExchangeKey {
 public:
  explicit ExchangeKey(const Secret& private_key);
  Bytes32 public_half() const;
  /// Throws Error (failure) for a public key of small order, which would make the shared secret public.
  Secret shared_with(const Bytes32& other_public) const;

 private:
  friend bool is_usable(const Bytes32& other_public);
  bool exchange(const Bytes32& other_public, Secret& shared) const;
  std::shared_ptr<evp_pkey_st> key_;
};
inline Bytes32 public_key(const Secret& private_key) { return ExchangeKey(private_key).public_half(); }
inline Secret shared_secret(const Secret& private_key, const Bytes32& other_public) {
  return ExchangeKey(private_key).shared_with(other_public);
}
/// False for a public key of small order.
bool is_usable(const Bytes32& other_public);

/// Computes each pair's shared secret once in a process that has both of its roles: the side that asks second takes what the
/// first computed, found by the two public keys. A pair that asks again has its secret computed again. Thread-safe.
class PairSecrets {
 public:
  /// Like own.shared_with(other_public).
  Secret shared(const ExchangeKey& own, const Bytes32& other_public);

 private:
  std::mutex mutex_;
  std::map<std::pair<Bytes32, Bytes32>, Secret> asked_once_;  ///< by the pair's public keys, the smaller one first
};

/// A private key of Ed25519 (RFC 8032). Making one costs about as much as signing: make it once for many signatures.
class SigningKey {
 public:
  explicit SigningKey(const Secret& private_key);
  Bytes32 verifying_key() const;
  Signature sign(std::string_view message) const;

 private:
  std::shared_ptr<evp_pkey_st> key_;
};
inline Bytes32 verifying_key(const Secret& signing_key) { return SigningKey(signing_key).verifying_key(); }
inline Signature sign(const Secret& signing_key, std::string_view message) { return SigningKey(signing_key).sign(message); }
bool verifies(const Bytes32& verifying_key, std::string_view message, const Signature& signature);

/// Remembers the signatures that a process with several roles has verified, so each is verified only once. Thread-safe.
class VerifiedSignatures {
 public:
  bool verifies(const Bytes32& verifying_key, std::string_view message, const Signature& signature);

 private:
  struct FirstBytes {
    std::size_t operator()(const Bytes32& digest) const { return std::bit_cast<std::array<std::size_t, 4>>(digest)[0]; }
  };
  std::mutex mutex_;
  std::unordered_set<Bytes32, FirstBytes> good_;  ///< SHA-256 of key, signature and message
};

/// ChaCha20-Poly1305 (RFC 8439) with a nonce of zeros: each key must encrypt only one message. The result is 16 bytes longer than
/// `plain`.
std::string encrypted(const Secret& key, std::string_view associated, std::string_view plain);
/// Returns false if the message, the associated data or the key does not match the encryption.
bool decrypt(const Secret& key, std::string_view associated, std::string_view message, std::string& plain);

/// A key's ChaCha20 stream (RFC 8439) from its beginning, in pieces.
class KeyStream {
 public:
  explicit KeyStream(const Secret& key);
  ~KeyStream();
  KeyStream& operator=(KeyStream&&) = delete;
  /// Fills `out` with the next bytes.
  void next(std::span<std::uint8_t> out);

 private:
  evp_cipher_ctx_st* context_;
};

inline std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace fedstride::secagg
