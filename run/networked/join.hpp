#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "client/outside_training.hpp"
#include "net/member.hpp"
#include "nn/evaluation.hpp"
#include "run/run_privacy.hpp"
#include "run/setup.hpp"

namespace fedstride {

enum class RequiredPrivacy { example, client, both };
constexpr auto choice_names(RequiredPrivacy) { return names("example", "client", "both"); }

/// One client of a networked federation.
struct JoinOptions {
  ClientId client = 0;
  Endpoint connect;
  std::filesystem::path certificates;  ///< folder or bundle (client_files_at); empty: plain TCP, to loopback alone
  std::filesystem::path folder;        ///< its own: what it has answered, its ledger, its key
  std::string data = {};               ///< as Configuration::data
  std::string data_dir;                ///< as Configuration::data_dir
  int threads = 0;
  std::filesystem::path turns = {};  ///< Turns: a folder shared with the other clients of this machine; empty: none
  bool accept_other_builds = false;
  double patience = 600;                           ///< MemberRules::patience
  std::optional<RequiredPrivacy> require_dp = {};  ///< takes part only if these are protected; none: always
  /// Answers only while its own ledger stays within this; an experiment without privacy it leaves. None: no limit.
  std::optional<PrivacyLimit> limit = {};
  NetworkLog log;
  /// Code of the user's own that trains the client; empty: it is trained as the experiment says. A failure of that code costs the
  /// client its part in the round.
  OutsideTraining train = {};
  std::function<Evaluation(const Vector& model)> evaluate = {};  ///< tests models for the coordinator; empty: not offered
  std::function<void(const Setup& setup)> prepared = {};  ///< for that code: the experiment is known, and the client's rows
};

/// Takes part until the coordinator says that the federation is finished, or `stop` becomes true. The experiment comes
/// from the coordinator; data, ledger and secret key are the client's own. The data set is read and compared as a whole,
/// then all but the client's rows is let go.
///
/// An answer is on the disk before it is sent. Asked for the last round again with the same model it gives the same
/// bits; with another model, or for a round before that, it refuses: an address of the noise is never used for two inputs.
/// Throws Error.
MemberOutcome join_federation(const JoinOptions& options, const std::atomic<bool>* stop);

}  // namespace fedstride
