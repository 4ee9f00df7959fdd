#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/family.hpp"
#include "core/task.hpp"

namespace fedstride {

/// The PEM files of one side of a TLS connection: the authority it trusts, its certificate and its key.
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

/// The common name of a certificate: "coordinator", "client-3".
inline constexpr std::string_view kCoordinatorName = "coordinator";
std::string client_name(ClientId client);

inline constexpr Valid kCertificateClients{.low = 1, .high = 100'000};
inline constexpr Valid kCertificateDays{.low = 1, .high = 36'500};

struct CertificateRules {
  int clients = 5;
  /// Validity of the certificates in days from now (with a few minutes' allowance for clocks), at most that of the
  /// authority.
  int days = 365;
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
};

/// A report on the certificates made, for people.
struct CertificateReport {
  int made = 0;         ///< certificates, the authority's own counted
  int kept = 0;         ///< requested ones that existed already
  std::string expires;  ///< the earliest of all these: "2027-11-21 20:00 UTC"
};

/// Makes a small authority in `folder` (if there is none), a certificate of the coordinator and one of every client 0 to
/// clients - 1: P-256 keys readable by their owner alone, X.509 v3, each certificate good for its own role alone
/// (extended key usage: server, client). In a folder that has an authority already, only missing or expired
/// certificates are made, by that authority; an existing key is never replaced. Throws Error: failure if a file cannot be
/// written, or an existing one is damaged, unreadable or does not fit the others, or another process works in the folder;
/// usage if numbers are out of range.
CertificateReport make_certificates(const std::filesystem::path& folder, const CertificateRules& rules);

/// Throws Error (failure), naming the file and what would be valid, unless all three can be read, the key belongs to the
/// certificate and is readable by nobody but its owner, and the certificate is the authority's, of that name, and valid
/// today ("expired on 2026-11-01").
void check_files(const TlsFiles& files, std::string_view name);

}  // namespace fedstride
