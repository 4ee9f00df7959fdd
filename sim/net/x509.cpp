#include "sim/net/x509.hpp"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxPemBytes = std::uint64_t{1} << 20;

struct FreeOther {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(X509_STORE* store) const { X509_STORE_free(store); }
  void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
};
template <class Type>
using Handle = std::unique_ptr<Type, FreeOther>;

/// Throws unless `done`; for calls that fail only if OpenSSL is broken or out of memory.
void require(bool done) {
  if (done) return;
  char reason[256];
  ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
  ERR_clear_error();
  throw failure(std::string("OpenSSL cannot make a certificate: ") + reason);
}

void set_random_serial(X509* certificate) {
  const Handle<BIGNUM> serial(BN_new());
  require(serial && BN_rand(serial.get(), 128, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
          BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr);
}

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Handle<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  require(extension && X509_add_ext(certificate, extension.get(), -1) == 1);
}

/// Returns the text that write(bio) writes.
std::string written(const auto& write) {
  const Handle<BIO> bio(BIO_new(BIO_s_mem()));
  require(bio && write(bio.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

struct stat status_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw failure("cannot read '" + path.string() + "': " + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw failure("'" + path.string() + "' is not a file");
  return status;
}

/// Opens a file's text as a stream.
Handle<BIO> open_text(const fs::path& path) {
  status_of(path);
  const std::string text = read_file(path, kMaxPemBytes);
  Handle<BIO> bio(BIO_new(BIO_s_mem()));
  require(bio && BIO_write(bio.get(), text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size()));
  return bio;
}

/// Replaces OpenSSL's callback, which prompts on the terminal.
int no_password(char*, int, int, void*) { return -1; }

/// Returns a subject's common name; empty if there is none.
std::string name_in(X509_NAME* name) {
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0) return {};
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> holder(bytes, [](unsigned char* p) { OPENSSL_free(p); });
  ERR_clear_error();
  return size < 0 ? std::string{} : std::string(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

void add_name(X509_NAME* subject, const std::string& name) {
  require(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                     0) == 1);
}

std::time_t time_of(const ASN1_TIME* time) {
  std::tm parts{};
  require(ASN1_TIME_to_tm(time, &parts) == 1);
  return ::timegm(&parts);
}

std::string role_text(Role role) {
  return role == Role::server ? "a coordinator" : role == Role::client ? "a client" : "an authority";
}

}  // namespace

KeyHandle new_key() {
  KeyHandle key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  require(key != nullptr);
  return key;
}

CertificateHandle issue(const CertificatePlan& plan, EVP_PKEY* key, const Identity* issuer) {
  CertificateHandle made(X509_new());
  X509* certificate = made.get();
  require(made && X509_set_version(certificate, X509_VERSION_3) == 1);
  set_random_serial(certificate);
  add_name(X509_get_subject_name(certificate), plan.name);
  X509* signer = issuer != nullptr ? issuer->certificate.get() : certificate;
  require(X509_set_issuer_name(certificate, X509_get_subject_name(signer)) == 1 && X509_set_pubkey(certificate, key) == 1 &&
          ASN1_TIME_set(X509_getm_notBefore(certificate), plan.from) != nullptr &&
          ASN1_TIME_set(X509_getm_notAfter(certificate), plan.until) != nullptr);
  const auto extend = [&](int kind, const std::string& value) { add_extension(certificate, signer, kind, value); };
  extend(NID_subject_key_identifier, "hash");
  if (plan.role == Role::authority) {
    extend(NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    extend(NID_key_usage, "critical,keyCertSign");
  } else {
    extend(NID_authority_key_identifier, "keyid:always");
    extend(NID_basic_constraints, "critical,CA:FALSE");
    extend(NID_key_usage, "critical,digitalSignature");
    extend(NID_ext_key_usage, plan.role == Role::server ? "serverAuth" : "clientAuth");
    extend(NID_subject_alt_name, "DNS:" + plan.name);
  }
  require(X509_sign(certificate, issuer != nullptr ? issuer->key.get() : key, EVP_sha256()) > 0);
  return made;
}

std::string request_for(const std::string& name, EVP_PKEY* key) {
  const std::unique_ptr<X509_REQ, FreeX509> request(X509_REQ_new());
  require(request && X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) == 1);
  add_name(X509_REQ_get_subject_name(request.get()), name);
  require(X509_REQ_set_pubkey(request.get(), key) == 1 && X509_REQ_sign(request.get(), key, EVP_sha256()) > 0);
  return written([&](BIO* bio) { return PEM_write_bio_X509_REQ(bio, request.get()); });
}

Request read_request(const fs::path& path) {
  const std::unique_ptr<X509_REQ, FreeX509> request(PEM_read_bio_X509_REQ(open_text(path).get(), nullptr, no_password, nullptr));
  KeyHandle key(request ? X509_REQ_get_pubkey(request.get()) : nullptr);
  const bool whole = key && X509_REQ_verify(request.get(), key.get()) == 1;
  char curve[32] = "";
  const bool usual = whole && EVP_PKEY_get_group_name(key.get(), curve, sizeof curve, nullptr) == 1 &&
                     std::string_view(curve) == SN_X9_62_prime256v1;
  ERR_clear_error();
  if (!whole) throw failure("'" + path.string() + "' is damaged or is not a PEM certificate request signed by its own key");
  if (!usual) throw failure("the key of the request '" + path.string() + "' is not on the curve P-256, the only one accepted");
  return {name_in(X509_REQ_get_subject_name(request.get())), std::move(key)};
}

std::string fingerprint_of_key(EVP_PKEY* key) {
  unsigned char* bytes = nullptr;
  const int size = i2d_PUBKEY(key, &bytes);
  require(size > 0);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> holder(bytes, [](unsigned char* p) { OPENSSL_free(p); });
  return Hash().bytes(bytes, static_cast<std::size_t>(size)).hex();
}

std::string to_pem(X509* certificate) {
  return written([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string to_pem(EVP_PKEY* key) {
  return written([&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

CertificateHandle read_certificate(const fs::path& path) {
  CertificateHandle certificate(PEM_read_bio_X509(open_text(path).get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  if (!certificate) throw failure("'" + path.string() + "' is damaged or is not a PEM certificate");
  return certificate;
}

std::vector<CertificateHandle> read_authorities(const fs::path& path) {
  const Handle<BIO> bio = open_text(path);
  std::vector<CertificateHandle> all;
  bool any = false;
  while (CertificateHandle next{PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)}) {
    any = true;
    if (X509_check_ca(next.get()) == 1) all.push_back(std::move(next));
  }
  // Reading must have stopped at the end of the file.
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!any || !ended) throw failure("'" + path.string() + "' is damaged or is not a PEM certificate");
  if (all.empty()) throw failure("the certificate '" + path.string() + "' does not belong to an authority");
  return all;
}

KeyHandle read_key(const fs::path& path) {
  const struct stat status = status_of(path);
  const std::string name = "the key '" + path.string() + "' ";
  if (status.st_uid != ::geteuid())
    throw failure(name + "is owned by user " + std::to_string(status.st_uid) + "; it must be owned by the current user, " +
                  std::to_string(::geteuid()));
  if ((status.st_mode & 077) != 0) throw failure(name + "is accessible to other users; run chmod 600 " + path.string());
  KeyHandle key(PEM_read_bio_PrivateKey(open_text(path).get(), nullptr, no_password, nullptr));
  const Handle<EVP_PKEY_CTX> context(key ? EVP_PKEY_CTX_new(key.get(), nullptr) : nullptr);
  const bool whole = context && EVP_PKEY_pairwise_check(context.get()) == 1;
  ERR_clear_error();
  if (!whole) throw failure(name + "is damaged or is not a PEM private key without a password");
  return key;
}

std::string common_name(X509* certificate) { return name_in(X509_get_subject_name(certificate)); }

PeerCertificate facts_of(X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  require(X509_digest(certificate, EVP_sha256(), digest, &size) == 1);
  const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate);
  return {.name = common_name(certificate),
          .serial = hex_of({ASN1_STRING_get0_data(serial), static_cast<std::size_t>(ASN1_STRING_length(serial))}),
          .fingerprint = hex_of({digest, size}),
          .expires = expiry(certificate)};
}

std::time_t expiry(const X509* certificate) { return time_of(X509_get0_notAfter(certificate)); }

std::string utc_text(std::time_t time) {
  std::tm parts{};
  char text[64] = "?";
  if (::gmtime_r(&time, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

void check_pair(const Identity& identity, const fs::path& certificate, const fs::path& key) {
  const bool fits = X509_check_private_key(identity.certificate.get(), identity.key.get()) == 1;
  ERR_clear_error();
  if (!fits)
    throw failure("the key '" + key.string() + "' does not match the certificate '" + certificate.string() +
                  "'; use the key that the certificate was issued for");
}

std::time_t check_issued(NamedCertificate certificate, NamedAuthorities authorities, Role role, std::time_t when) {
  const Handle<X509_STORE> store(X509_STORE_new());
  const Handle<X509_STORE_CTX> context(X509_STORE_CTX_new());
  require(store && context);
  for (const CertificateHandle& authority : authorities.certificates)
    require(X509_STORE_add_cert(store.get(), authority.get()) == 1);
  require(X509_STORE_CTX_init(context.get(), store.get(), certificate.certificate, nullptr) == 1);
  X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_CHECK_SS_SIGNATURE);
  X509_STORE_CTX_set_time(context.get(), 0, when);
  if (role != Role::authority)
    require(X509_STORE_CTX_set_purpose(context.get(), role == Role::server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT) ==
            1);
  const bool valid = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  if (valid) {
    std::time_t end = expiry(certificate.certificate);
    const STACK_OF(X509)* chain = X509_STORE_CTX_get0_chain(context.get());
    for (int i = 0; i < sk_X509_num(chain); ++i) end = std::min(end, expiry(sk_X509_value(chain, i)));
    return end;
  }
  const int error = X509_STORE_CTX_get_error(context.get());
  X509* at = X509_STORE_CTX_get_current_cert(context.get());
  const bool of_authority = X509_STORE_CTX_get_error_depth(context.get()) > 0;
  const std::string name = "the certificate '" + (of_authority ? authorities.path : certificate.path).string() + "' ";
  if (error == X509_V_ERR_CERT_HAS_EXPIRED && at != nullptr)
    throw refused_for_good(name + "expired on " + utc_text(expiry(at)) + "; 'fedstride certificates' makes new ones");
  if (error == X509_V_ERR_CERT_NOT_YET_VALID && at != nullptr)
    throw temporary(name + "is not valid before " + utc_text(time_of(X509_get0_notBefore(at))) + "; check this machine's clock");
  if (error == X509_V_ERR_INVALID_PURPOSE)
    throw failure(name + "is not valid for " + role_text(role) + "; use one issued for that role");
  throw failure("the certificate '" + certificate.path.string() + "' was not issued by the authority '" +
                authorities.path.string() + "' (" + X509_verify_cert_error_string(error) + ")");
}

}  // namespace fedstride
