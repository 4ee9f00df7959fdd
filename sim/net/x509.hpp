#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/net/certificates.hpp"

namespace fedstride {

struct FreeX509 {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_REQ* request) const { X509_REQ_free(request); }
};
using CertificateHandle = std::unique_ptr<X509, FreeX509>;
using KeyHandle = std::unique_ptr<EVP_PKEY, FreeX509>;

/// A certificate and its private key.
struct Identity {
  CertificateHandle certificate;
  KeyHandle key;
};

enum class Role { authority, server, client };

struct CertificatePlan {
  std::string name;  ///< common name, and DNS name of a server or client
  Role role = Role::client;
  std::time_t from = 0;
  std::time_t until = 0;
};

/// Creates a new key on the curve P-256.
KeyHandle new_key();
/// Issues a certificate for `key`, signed by the issuer; self-signed if `issuer` is null.
CertificateHandle issue(const CertificatePlan& plan, EVP_PKEY* key, const Identity* issuer);

/// Makes a request (PKCS #10, in PEM) for a certificate with this name and key, signed by the key.
std::string request_for(const std::string& name, EVP_PKEY* key);
struct Request {
  std::string name;
  KeyHandle key;  ///< the public half
};
/// Reads PEM. Throws Error (failure) that names the file unless the file is a request signed by its own key on P-256.
Request read_request(const std::filesystem::path& path);
/// Returns the SHA-256 digest of the public key (SubjectPublicKeyInfo in DER) as 64 hexadecimal digits, for two people to
/// compare.
std::string fingerprint_of_key(EVP_PKEY* key);

std::string to_pem(X509* certificate);
std::string to_pem(EVP_PKEY* key);

/// Reads PEM. Throws Error (failure) that names the file if it is not a regular file, is larger than 1 MiB or is damaged; a key
/// file must also be owned by the current user and readable and writable only by that user.
CertificateHandle read_certificate(const std::filesystem::path& path);
/// Returns the authorities' certificates in a file, in file order. Also throws Error (failure) if there are none.
std::vector<CertificateHandle> read_authorities(const std::filesystem::path& path);
KeyHandle read_key(const std::filesystem::path& path);

std::string common_name(X509* certificate);
std::time_t expiry(const X509* certificate);
PeerCertificate facts_of(X509* certificate);
/// "2027-11-21 20:00 UTC"
std::string utc_text(std::time_t time);

/// Throws Error (failure) that names both files unless the key matches the certificate.
void check_pair(const Identity& identity, const std::filesystem::path& certificate, const std::filesystem::path& key);

/// A certificate and the file it was read from.
struct NamedCertificate {
  X509* certificate;
  const std::filesystem::path& path;
};

/// The trusted authorities and the file they were read from.
struct NamedAuthorities {
  const std::vector<CertificateHandle>& certificates;
  const std::filesystem::path& path;
};

/// Throws Error (failure) that names the file unless one of the authorities signed the certificate for this role and both
/// are valid at that time. Returns the earlier of the two expiry times.
std::time_t check_issued(NamedCertificate certificate, NamedAuthorities authorities, Role role, std::time_t when);

}  // namespace fedstride
