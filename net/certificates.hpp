#pragma once

#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/family.hpp"
#include "core/task.hpp"

namespace fedstride {

/// The PEM files of one side of a TLS connection: the authorities it trusts (all in one file, so that an old one and its
/// successor can overlap), its certificate and its key.
struct TlsFiles {
  std::filesystem::path authority;
  std::filesystem::path certificate;
  std::filesystem::path key;
};

/// The files that `make_certificates` writes to a folder: authority.pem, authority.key, coordinator.pem, coordinator.key,
/// and client-K.pem, client-K.key for every client. A party needs authority.pem and its own two files; authority.key is
/// only needed to make more certificates.
TlsFiles coordinator_files(const std::filesystem::path& folder);
TlsFiles client_files(const std::filesystem::path& folder, ClientId client);
/// A client's files in a folder, or in a bundle: one file with its certificate first, then the authorities', and its key; or
/// the key in client-K.key beside it.
TlsFiles client_files_at(const std::filesystem::path& folder_or_bundle, ClientId client);

/// The common name of a certificate: "coordinator", "client-3".
inline constexpr std::string_view kCoordinatorName = "coordinator";
std::string client_name(ClientId client);

/// The facts of a certificate that a connection showed.
struct PeerCertificate {
  std::string name = {};         ///< common name; empty: it showed none
  std::string serial = {};       ///< hexadecimal, lower case
  std::string fingerprint = {};  ///< SHA-256 of the certificate in DER, 64 hexadecimal digits
  std::time_t expires = 0;
};

inline constexpr Valid kCertificateClients{.low = 0, .high = 100'000};
inline constexpr Valid kCertificateDays{.low = 1, .high = 36'500};

struct CertificateRules {
  int clients = 5;
  /// Validity of the certificates in days from now (with a few minutes' allowance for clocks), at most that of the
  /// authority.
  int days = 365;
  bool bundles = false;  ///< also client-K.bundle.pem (0600) for each client whose key is here: all it needs, in one file
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
};

/// A report on the certificates made, for people.
struct CertificateReport {
  int made = 0;         ///< certificates, the authority's own counted
  int kept = 0;         ///< requested ones that existed already
  std::string expires;  ///< the earliest of all these: "2027-11-21 20:00 UTC"
};

/// Makes a small authority in `folder` (if there is none), a certificate of the coordinator and one of every client 0 to
/// clients - 1, none if clients is 0 (they send requests): P-256 keys readable by their owner alone, X.509 v3, each certificate
/// good for its own role alone (extended key usage: server, client). In a folder that has an authority already, only missing or expired
/// certificates are made, by that authority; an existing key is never replaced. Throws Error: failure if a file cannot be
/// written, or an existing one is damaged, unreadable or does not fit the others, or another process works in the folder;
/// usage if numbers are out of range.
CertificateReport make_certificates(const std::filesystem::path& folder, const CertificateRules& rules);

/// A request for a client's certificate, made where the client is: its key never leaves it.
struct RequestReport {
  std::filesystem::path request;  ///< FOLDER/client-K.csr, to be sent to whoever has the authority
  std::string key;                ///< fingerprint of the key
};
/// Makes FOLDER/client-K.key, unless it is there, and a request for it. Throws Error (failure).
RequestReport make_request(const std::filesystem::path& folder, ClientId client);

struct SignReport {
  std::string name;              ///< "client-3"
  std::string key;               ///< fingerprint of its key, to be compared with what the client was told
  std::filesystem::path bundle;  ///< FOLDER/client-3.bundle.pem: certificate and authorities, nothing secret
  std::string expires;
};
/// Makes the certificate that a request asks for, by the authority of `folder`, and keeps it and the request there. Only names
/// of clients are signed; one that has a certificate of another key already is refused. Throws Error (failure).
SignReport sign_request(const std::filesystem::path& folder, const std::filesystem::path& request, std::optional<ClientId> client,
                        const CertificateRules& rules);

/// Makes a new certificate for the existing key of "coordinator" or "client-3"; for "authority" a new authority with a new
/// key, which signs from now on, in front of the old ones in authority.pem (those that have expired leave the file). Whatever
/// the old authority signed stays valid until it expires. Throws Error: usage for another name, failure. Returns when
/// the new certificate expires.
std::string renew_certificate(const std::filesystem::path& folder, const std::string& name, const CertificateRules& rules);

/// When the certificate or the authority that signed it expires, whichever is first. Throws Error as check_files does.
std::time_t expires_on(const TlsFiles& files, std::string_view name);
/// "the certificate 'certs/coordinator.pem' expires on 2027-11-21 20:00 UTC, in 12 days; ..." if that is less than
/// kExpiryWarningDays from now; else empty.
std::string expiry_warning(const std::string& whose, std::time_t expires, std::time_t now);
inline constexpr int kExpiryWarningDays = 30;

/// Throws Error (failure), naming the file and what would be valid, unless all three can be read, the key belongs to the
/// certificate and is readable by nobody but its owner, and the certificate is the authority's, of that name, and valid
/// today ("expired on 2026-11-01").
void check_files(const TlsFiles& files, std::string_view name);

}  // namespace fedstride
