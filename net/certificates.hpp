#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/family.hpp"
#include "core/task.hpp"

namespace fedstride {

/// The files of one side of a TLS connection, PEM: whom it believes, who it is, and the key that proves it.
struct TlsFiles {
  std::filesystem::path authority;
  std::filesystem::path certificate;
  std::filesystem::path key;
};

/// What `make_certificates` leaves in a folder: authority.pem, authority.key, coordinator.pem, coordinator.key, and
/// client-K.pem, client-K.key for every client. A party needs authority.pem and its own two; authority.key nobody needs
/// but to make more certificates.
TlsFiles coordinator_files(const std::filesystem::path& folder);
TlsFiles client_files(const std::filesystem::path& folder, ClientId client);

/// The common name of a certificate: "coordinator", "client-3".
inline constexpr std::string_view kCoordinatorName = "coordinator";
std::string client_name(ClientId client);

inline constexpr Valid kCertificateClients{.low = 1, .high = 100'000};
inline constexpr Valid kCertificateDays{.low = 1, .high = 36'500};

struct CertificateRules {
  int clients = 5;
  /// How long the certificates are valid, from now (a few minutes of clock difference granted), but none longer than
  /// the authority.
  int days = 365;
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
};

/// What was made, for a person.
struct CertificateReport {
  int made = 0;         ///< certificates, the authority's own counted
  int kept = 0;         ///< of those asked for: they were there already
  std::string expires;  ///< the first of all these: "2027-11-21 20:00 UTC"
};

/// A small authority in `folder` (made if it is not there), a certificate of the coordinator and one of every client 0 to
/// clients - 1: P-256 keys readable by their owner alone, X.509 v3, each certificate good for its own role alone
/// (extended key usage: server, client). In a folder that has an authority already, only what is missing or has expired
/// is made, by that authority; a key that is there is never replaced. Throws Error: failure if a file cannot be written,
/// or one that is there is damaged, unreadable or does not fit the others, or another process is at work in the folder;
/// usage if numbers are out of range.
CertificateReport make_certificates(const std::filesystem::path& folder, const CertificateRules& rules);

/// Throws Error (failure), naming the file and what would be valid, unless all three can be read, the key belongs to the
/// certificate and is readable by nobody but its owner, and the certificate is the authority's, of that name, and valid
/// today ("expired on 2026-11-01").
void check_files(const TlsFiles& files, std::string_view name);

}  // namespace fedstride
