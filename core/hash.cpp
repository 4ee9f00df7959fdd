#include "core/hash.hpp"

#include <openssl/evp.h>

#include "core/error.hpp"

namespace fedstride {

struct Hash::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() {
    if (context == nullptr || EVP_DigestInit_ex(context, EVP_sha256(), nullptr) != 1)
      throw failure("SHA-256 is not available in this OpenSSL");
  }
  ~State() { EVP_MD_CTX_free(context); }
};

Hash::Hash() : state_(std::make_unique<State>()) {}
Hash::~Hash() = default;
Hash::Hash(Hash&&) noexcept = default;
Hash& Hash::operator=(Hash&&) noexcept = default;

Hash& Hash::bytes(const void* data, std::size_t size) {
  EVP_DigestUpdate(state_->context, data, size);
  return *this;
}

std::array<std::uint8_t, 32> Hash::digest() {
  std::array<std::uint8_t, 32> digest{};
  EVP_DigestFinal_ex(state_->context, digest.data(), nullptr);
  return digest;
}

std::string Hash::hex() {
  std::string text;
  for (const unsigned char byte : digest()) {
    constexpr std::string_view digits = "0123456789abcdef";
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string model_hash(const Vector& parameters) { return Hash().values(view(parameters)).hex(); }

}  // namespace fedstride
