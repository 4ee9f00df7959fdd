#include "secagg/primitives.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace fedstride::secagg {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

void require(bool good, const char* what) {
  if (!good) throw failure(std::string(what) + " is not available in this OpenSSL");
}

Owned<EVP_PKEY> private_half(int type, const Secret& key) {
  Owned<EVP_PKEY> made(EVP_PKEY_new_raw_private_key(type, nullptr, key.bytes.data(), key.bytes.size()));
  require(made != nullptr, type == EVP_PKEY_X25519 ? "X25519" : "Ed25519");
  return made;
}

Owned<EVP_PKEY> public_half_of(int type, const Bytes32& key) {
  Owned<EVP_PKEY> made(EVP_PKEY_new_raw_public_key(type, nullptr, key.data(), key.size()));
  require(made != nullptr, type == EVP_PKEY_X25519 ? "X25519" : "Ed25519");
  return made;
}

Bytes32 public_of(EVP_PKEY* key) {
  Bytes32 out{};
  std::size_t size = out.size();
  require(EVP_PKEY_get_raw_public_key(key, out.data(), &size) == 1 && size == out.size(), "a raw public key");
  return out;
}

const unsigned char* bytes_of_text(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

constexpr std::size_t kTagSize = 16;
constexpr std::array<std::uint8_t, 12> kNoNonce{};

}  // namespace

Secret::~Secret() { wipe(bytes); }

void wipe(std::span<std::uint8_t> bytes) { OPENSSL_cleanse(bytes.data(), bytes.size()); }
void wipe(std::string& bytes) { OPENSSL_cleanse(bytes.data(), bytes.size()); }

Secret derived(const Secret& input, std::string_view salt, std::string_view info) {
  const Secret extracted(hmac_sha256(salt, text_of(input.bytes)));
  return Secret(hmac_sha256(text_of(extracted.bytes), std::string(info) + '\x01'));
}

ExchangeKey::ExchangeKey(const Secret& private_key) : key_(private_half(EVP_PKEY_X25519, private_key)) {}

Bytes32 ExchangeKey::public_half() const { return public_of(key_.get()); }

/// Returns false, leaving `shared` undefined, if the public key has small order.
bool ExchangeKey::exchange(const Bytes32& other_public, Secret& shared) const {
  const auto other = public_half_of(EVP_PKEY_X25519, other_public);
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new(key_.get(), nullptr));
  require(context && EVP_PKEY_derive_init(context.get()) == 1, "X25519");
  std::size_t size = shared.bytes.size();
  return EVP_PKEY_derive_set_peer(context.get(), other.get()) == 1 &&
         EVP_PKEY_derive(context.get(), shared.bytes.data(), &size) == 1 && size == shared.bytes.size();
}

Secret ExchangeKey::shared_with(const Bytes32& other_public) const {
  Secret shared;
  if (!exchange(other_public, shared)) throw failure("a public key has small order: with it, every shared secret is known");
  return shared;
}

bool is_usable(const Bytes32& other_public) {
  static const ExchangeKey any{Secret()};
  Secret shared;
  return any.exchange(other_public, shared);
}

Secret PairSecrets::shared(const ExchangeKey& own, const Bytes32& other_public) {
  const std::pair<Bytes32, Bytes32> pair = std::minmax(own.public_half(), other_public);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = asked_once_.extract(pair)) return found.mapped();
  }
  Secret secret = own.shared_with(other_public);
  const std::lock_guard lock(mutex_);
  if (!asked_once_.emplace(pair, secret).second) asked_once_.erase(pair);  // both sides have computed it at the same time
  return secret;
}

SigningKey::SigningKey(const Secret& private_key) : key_(private_half(EVP_PKEY_ED25519, private_key)) {}

Bytes32 SigningKey::verifying_key() const { return public_of(key_.get()); }

Signature SigningKey::sign(std::string_view message) const {
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  Signature signature{};
  std::size_t size = signature.size();
  require(context && EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
              EVP_DigestSign(context.get(), signature.data(), &size, bytes_of_text(message), message.size()) == 1,
          "Ed25519");
  return signature;
}

bool verifies(const Bytes32& verifying_key, std::string_view message, const Signature& signature) {
  const auto key = public_half_of(EVP_PKEY_ED25519, verifying_key);
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  require(context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1, "Ed25519");
  return EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes_of_text(message), message.size()) == 1;
}

bool VerifiedSignatures::verifies(const Bytes32& verifying_key, std::string_view message, const Signature& signature) {
  const Bytes32 name = Hash().text(text_of(verifying_key)).text(text_of(signature)).text(message).digest();
  {
    const std::lock_guard lock(mutex_);
    if (good_.contains(name)) return true;
  }
  if (!secagg::verifies(verifying_key, message, signature)) return false;
  const std::lock_guard lock(mutex_);
  good_.insert(name);
  return true;
}

std::string encrypted(const Secret& key, std::string_view associated, std::string_view plain) {
  const Owned<EVP_CIPHER_CTX> context(EVP_CIPHER_CTX_new());
  std::string out(plain.size() + kTagSize, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  int size = 0;
  require(
      context && EVP_EncryptInit_ex(context.get(), EVP_chacha20_poly1305(), nullptr, key.bytes.data(), kNoNonce.data()) == 1 &&
          EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of_text(associated), static_cast<int>(associated.size())) == 1 &&
          EVP_EncryptUpdate(context.get(), bytes, &size, bytes_of_text(plain), static_cast<int>(plain.size())) == 1 &&
          EVP_EncryptFinal_ex(context.get(), bytes + size, &size) == 1 &&
          EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTagSize, bytes + plain.size()) == 1,
      "ChaCha20-Poly1305");
  return out;
}

bool decrypt(const Secret& key, std::string_view associated, std::string_view message, std::string& plain) {
  if (message.size() < kTagSize) return false;
  const std::size_t length = message.size() - kTagSize;
  const Owned<EVP_CIPHER_CTX> context(EVP_CIPHER_CTX_new());
  std::array<std::uint8_t, kTagSize> tag{};
  std::copy_n(message.end() - kTagSize, kTagSize, tag.begin());
  std::string out(length, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  int size = 0;
  require(context && EVP_DecryptInit_ex(context.get(), EVP_chacha20_poly1305(), nullptr, key.bytes.data(), kNoNonce.data()) == 1,
          "ChaCha20-Poly1305");
  if (EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of_text(associated), static_cast<int>(associated.size())) != 1 ||
      EVP_DecryptUpdate(context.get(), bytes, &size, bytes_of_text(message), static_cast<int>(length)) != 1 ||
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTagSize, tag.data()) != 1 ||
      EVP_DecryptFinal_ex(context.get(), bytes + size, &size) != 1) {
    OPENSSL_cleanse(out.data(), out.size());
    return false;
  }
  plain = std::move(out);
  return true;
}

KeyStream::KeyStream(const Secret& key) : context_(EVP_CIPHER_CTX_new()) {
  constexpr std::array<std::uint8_t, 16> kCounterAndNonce{};
  require(context_ != nullptr &&
              EVP_EncryptInit_ex(context_, EVP_chacha20(), nullptr, key.bytes.data(), kCounterAndNonce.data()) == 1,
          "ChaCha20");
}

KeyStream::~KeyStream() { EVP_CIPHER_CTX_free(context_); }

void KeyStream::next(std::span<std::uint8_t> out) {
  std::ranges::fill(out, 0);
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  for (std::size_t done = 0; done < out.size(); done += kPiece) {
    const auto count = static_cast<int>(std::min(kPiece, out.size() - done));
    int size = 0;
    require(EVP_EncryptUpdate(context_, out.data() + done, &size, out.data() + done, count) == 1, "ChaCha20");
  }
}

}  // namespace fedstride::secagg
