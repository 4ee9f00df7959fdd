#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/setting.hpp"
#include "sim/run/fleets.hpp"

namespace fedstride {

/// A claim about a finished run, as in "test accuracy above 0.5 after round 60" or "epsilon below 3": test or validation, accuracy,
/// r2 or loss; or epsilon or client epsilon; above or below; a number; and the round, unless it is the last.
struct Claim {
  std::string number;  ///< the field of a round: "test_accuracy", "epsilon"
  bool above = true;
  double level = 0;
  std::uint32_t round = 0;  ///< 0: the last
  /// Throws Error (usage) for other texts.
  static Claim read(const std::string& text);
};

inline constexpr std::uint64_t kMaxCertificateBytes = 1 << 20;

/// What a run certifies: settings, schema, hashes of data and partition, hash and results of every round, ledger and statements,
/// claims, and what it must be signed by. Contains no rows and no models, and of a run under dp only what its guarantees cover.
/// docs/re-execution.md has the format.
struct CertifyOptions {
  std::vector<std::string> claims = {};
  std::string key = {};  ///< file of 32 secret bytes, made if missing, whose Ed25519 signature is added; empty: none
};
/// The certificate of the run in this folder, as a text of at most kMaxCertificateBytes. Throws Error: usage for a claim that does
/// not hold and for a run whose settings do not determine it (a replay with a setting changed on the way), failure for files that
/// are damaged or too long.
std::string certify(const std::filesystem::path& run, const CertifyOptions& options);

struct VerifyOptions {
  Settings here = {};                        ///< where the data lie, and threads
  std::optional<std::uint32_t> rounds = {};  ///< how many rounds are repeated, drawn from `seed`; all by default
  std::string seed = {};                     ///< empty: drawn from the kernel
  std::string checkpoints = {};  ///< folder of kept checkpoints; empty: `checkpoints` beside the certificate, if there
  std::string key = {};          ///< the run's secret.key; empty: none
  std::string signer = {};       ///< public key that must have signed; empty: any
  const std::atomic<bool>* stop = nullptr;
};

/// What was found about a certificate, one phrase each.
struct Verdict {
  std::vector<std::string> held = {};
  std::vector<std::string> broken = {};  ///< empty: nothing contradicts the certificate
  std::vector<std::string> unchecked = {};
};

/// Checks a certificate: its form, signature, claims, ledger and statements and, if the run can be carried out here, its rounds,
/// which are repeated from the start or from published checkpoints and compared bit for bit. `maker` and `configure` bring own
/// code, as in resume(). Throws Error: failure for a file that is no certificate, usage for options that it does not allow.
Verdict verify_certificate(const std::filesystem::path& file, const VerifyOptions& options, const FleetMaker& maker,
                           const std::function<void(Configuration&)>& configure = {});

/// True if the file begins as a certificate does.
bool is_certificate(const std::filesystem::path& file);

}  // namespace fedstride
