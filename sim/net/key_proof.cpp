#include "sim/net/key_proof.hpp"

#include <ctime>
#include <limits>

#include "core/error.hpp"
#include "core/number_bytes.hpp"
#include "sim/net/x509.hpp"

namespace fedstride {
namespace {

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeDigest>;

constexpr std::size_t kMostCertificate = 4000;

std::string identity_text(ClientId client, const secagg::Bytes32& key) {
  return "fedstride secagg 1 identity " + client_name(client) + " " + std::string(secagg::text_of(key));
}

const unsigned char* bytes_at(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

void put_text(std::string& to, std::string_view text) {
  put_number(to, static_cast<std::uint32_t>(text.size()));
  to.append(text);
}

bool take_text(std::string_view& from, std::string_view& text) {
  if (from.size() < sizeof(std::uint32_t)) return false;
  const auto size = take_number<std::uint32_t>(from);
  if (size > from.size() || size > kMostCertificate) return false;
  text = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

}  // namespace

std::string key_proof(const TlsFiles& files, ClientId client, const secagg::Bytes32& key) {
  const CertificateHandle certificate = read_certificate(files.certificate);
  const KeyHandle private_key = read_key(files.key);
  const std::string text = identity_text(client, key);
  const DigestContext context(EVP_MD_CTX_new());
  std::string signature(256, '\0');
  std::size_t size = signature.size();
  unsigned char* der = nullptr;
  const int length = i2d_X509(certificate.get(), &der);
  if (!context || length <= 0 || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, private_key.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes_at(text), text.size()) != 1)
    throw failure("the key '" + files.key.string() + "' cannot sign a key for secure aggregation");
  signature.resize(size);
  std::string proof;
  put_text(proof, {reinterpret_cast<const char*>(der), static_cast<std::size_t>(length)});
  put_text(proof, signature);
  OPENSSL_free(der);
  return proof;
}

struct KeyChecker::Authorities {
  std::filesystem::path path;
  std::vector<CertificateHandle> certificates;
};

KeyChecker::KeyChecker(const TlsFiles& files)
    : authorities_(std::make_unique<Authorities>(Authorities{files.authority, read_authorities(files.authority)})) {}
KeyChecker::~KeyChecker() = default;
KeyChecker::KeyChecker(KeyChecker&&) noexcept = default;
KeyChecker& KeyChecker::operator=(KeyChecker&&) noexcept = default;

std::string KeyChecker::objection(ClientId client, const secagg::Bytes32& key, const std::string& proof) const {
  const std::string who = "client " + std::to_string(client);
  std::string_view rest = proof;
  std::string_view der, signature;
  if (!take_text(rest, der) || !take_text(rest, signature) || !rest.empty())
    return "the signing key of " + who + " comes without a certificate";
  const unsigned char* at = bytes_at(der);
  const CertificateHandle certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  if (!certificate || at != bytes_at(der) + der.size()) return "the certificate with the signing key of " + who + " is damaged";
  if (const std::string name = common_name(certificate.get()); name != client_name(client))
    return "the signing key of " + who + " comes with the certificate of '" + name + "'";
  try {
    check_issued({certificate.get(), who}, {authorities_->certificates, authorities_->path}, Role::client, std::time(nullptr));
  } catch (const Error& error) {
    return "the signing key of " + who + " comes with a certificate that is not accepted: " + error.what();
  }
  const std::string text = identity_text(client, key);
  const DigestContext context(EVP_MD_CTX_new());
  if (!context || EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, X509_get0_pubkey(certificate.get())) != 1 ||
      EVP_DigestVerify(context.get(), bytes_at(signature), signature.size(), bytes_at(text), text.size()) != 1)
    return "the signing key of " + who + " is not signed by its certificate's key";
  return {};
}

}  // namespace fedstride
