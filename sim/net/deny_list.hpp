#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "sim/net/certificates.hpp"

namespace fedstride {

/// Valid certificates that are nevertheless rejected. Each line of the file is one of
///   client-3              every certificate with that name
///   serial 1f0e...        one certificate, by its serial number
///   fingerprint 9f86...   one certificate, by the SHA-256 of its DER form; colons between bytes are ignored
/// Hexadecimal digits may be in either case. Text after a # is a comment; empty lines are ignored.
class DenyList {
 public:
  DenyList() = default;
  /// Throws Error (failure) that names the file and the line.
  static DenyList read(const std::filesystem::path& path);

  /// Returns the entry that denies this certificate ("client-3"); empty if none does.
  std::string entry_for(const PeerCertificate& certificate) const;
  /// True if this name is denied regardless of its certificate.
  bool denies_name(const std::string& name) const { return entries_.contains(name); }
  std::size_t size() const { return entries_.size(); }

 private:
  std::set<std::string> entries_;  ///< in the form above, with digits in lower case
};

}  // namespace fedstride
