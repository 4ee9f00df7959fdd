#pragma once

#include <memory>
#include <string>

#include "secagg/primitives.hpp"
#include "sim/net/certificates.hpp"

namespace fedstride {

/// Returns a proof that the holder of a client's certificate owns the long-term signing key `key`: the certificate, and a
/// signature of the client's name and `key` made with the certificate's private key. Throws Error (failure) if the files cannot
/// be used.
std::string key_proof(const TlsFiles& files, ClientId client, const secagg::Bytes32& key);

/// Checks key proofs against this side's authorities.
class KeyChecker {
 public:
  /// Throws Error (failure) if the authorities cannot be read.
  explicit KeyChecker(const TlsFiles& files);
  ~KeyChecker();
  KeyChecker(KeyChecker&&) noexcept;
  KeyChecker& operator=(KeyChecker&&) noexcept;

  /// Returns why the proof fails, in one line that names the client; empty if the key is the client's.
  std::string objection(ClientId client, const secagg::Bytes32& key, const std::string& proof) const;

 private:
  struct Authorities;
  std::unique_ptr<Authorities> authorities_;
};

}  // namespace fedstride
