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

/// The PEM files of one side of a TLS connection: the authorities it trusts (all in one file, so that an old authority and its
/// successor can overlap), its certificate and its key.
struct TlsFiles {
  std::filesystem::path authority;
  std::filesystem::path certificate;
  std::filesystem::path key;
};

/// Return the paths of one party's files in a folder. `make_certificates` writes authority.pem, authority.key, coordinator.pem,
/// coordinator.key, and client-K.pem and client-K.key for every client. Each party needs authority.pem and its own two files;
/// authority.key is needed only to issue more certificates.
TlsFiles coordinator_files(const std::filesystem::path& folder);
TlsFiles client_files(const std::filesystem::path& folder, ClientId client);
/// Returns the paths of a client's files in a folder or bundle. A bundle is one file with the client's certificate first, then
/// the authorities' certificates and the client's key; if it lacks the key, the key is in client-K.key next to it.
TlsFiles client_files_at(const std::filesystem::path& folder_or_bundle, ClientId client);

/// The common name of a certificate: "coordinator" or "client-3".
inline constexpr std::string_view kCoordinatorName = "coordinator";
std::string client_name(ClientId client);

/// The properties of a certificate presented by a peer.
struct PeerCertificate {
  std::string name = {};         ///< common name; empty if no certificate was presented
  std::string serial = {};       ///< hexadecimal, lower case
  std::string fingerprint = {};  ///< SHA-256 of the certificate in DER, 64 hexadecimal digits
  std::time_t expires = 0;
};

inline constexpr Valid kCertificateClients{.low = 0, .high = 100'000};
inline constexpr Valid kCertificateDays{.low = 1, .high = 36'500};

struct CertificateRules {
  int clients = 5;
  /// Validity of the certificates in days from now (with a few minutes' allowance for clock differences), at most the
  /// authority's.
  int days = 365;
  bool bundles =
      false;  ///< also write client-K.bundle.pem (0600), with all that a client needs, for each client whose key is in the folder
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
};

/// The result of make_certificates().
struct CertificateReport {
  int made = 0;         ///< certificates, including the authority's
  int kept = 0;         ///< requested certificates that already existed
  std::string expires;  ///< the earliest expiry among them, such as "2027-11-21 20:00 UTC"
};

/// Creates an authority in `folder` (if there is none), a certificate for the coordinator and one for each client from 0 to
/// clients - 1 (none if clients is 0: clients then send requests). Keys are P-256 keys in files readable only by their owner;
/// certificates are X.509 v3, each valid only for its own role (extended key usage: server, client). If the folder already has an
/// authority, only missing or expired certificates are issued; an existing key is never replaced. Throws Error: failure if a file
/// cannot be written, an existing file is damaged, unreadable or does not match the others, or another process is using the
/// folder; usage if a number is out of range.
CertificateReport make_certificates(const std::filesystem::path& folder, const CertificateRules& rules);

/// A request for a client's certificate, made on the client's machine; the key never leaves that machine.
struct RequestReport {
  std::filesystem::path request;  ///< FOLDER/client-K.csr, to be sent to the authority's operator
  std::string key;                ///< fingerprint of the key
};
/// Creates FOLDER/client-K.key if missing, and a request for it. Throws Error (failure).
RequestReport make_request(const std::filesystem::path& folder, ClientId client);

struct SignReport {
  std::string name;              ///< "client-3"
  std::string key;               ///< fingerprint of the client's key, to be compared with the one the client printed
  std::filesystem::path bundle;  ///< FOLDER/client-3.bundle.pem: certificate and authorities; contains no secret
  std::string expires;
};
/// Issues the requested certificate, signed by the authority in `folder`, and stores it and the request there. Refuses a name
/// other than a client's, and a name that already has a certificate for another key. Throws Error (failure).
SignReport sign_request(const std::filesystem::path& folder, const std::filesystem::path& request, std::optional<ClientId> client,
                        const CertificateRules& rules);

/// Issues a new certificate for the existing key of "coordinator" or "client-3". For "authority", creates a new authority with a
/// new key, which signs from now on, and puts it before the old authorities in authority.pem; expired ones are removed.
/// Certificates signed by the old authority stay valid until they expire. Throws Error: usage for any other name, otherwise
/// failure. Returns the expiry of the new certificate.
std::string renew_certificate(const std::filesystem::path& folder, const std::string& name, const CertificateRules& rules);

/// Returns the expiry of the certificate or of the authority that signed it, whichever comes first. Throws Error like
/// check_files.
std::time_t expires_on(const TlsFiles& files, std::string_view name);
/// Returns a warning, "the certificate 'certs/coordinator.pem' expires on 2027-11-21 20:00 UTC, in 12 days; ...", if less than
/// kExpiryWarningDays are left; otherwise empty.
std::string expiry_warning(const std::string& whose, std::time_t expires, std::time_t now);
inline constexpr int kExpiryWarningDays = 30;

/// Throws Error (failure), naming the file and what is wrong with it, unless all three files can be read, the key matches the
/// certificate and is readable only by its owner, and the certificate was issued by the authority for this name and is valid now.
void check_files(const TlsFiles& files, std::string_view name);

}  // namespace fedstride
