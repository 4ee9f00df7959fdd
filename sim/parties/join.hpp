#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "client/outside_training.hpp"
#include "nn/evaluation.hpp"
#include "sim/net/member.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/run_privacy.hpp"

namespace fedstride {

enum class RequiredPrivacy { example, client, both };
constexpr auto choice_names(RequiredPrivacy) { return names("example", "client", "both"); }

/// The options of a client of a networked federation.
struct JoinOptions {
  ClientId client = 0;
  Endpoint connect;
  std::filesystem::path certificates;  ///< folder or bundle (client_files_at); empty: plain TCP, to loopback only
  std::filesystem::path folder;        ///< the client's own folder: answers, ledger, key
  std::string data = {};               ///< as Configuration::data
  std::string data_dir;                ///< as Configuration::data_dir
  int threads = 0;
  bool accept_other_builds = false;
  double patience = 600;                           ///< MemberRules::patience
  bool require_secure = false;                     ///< takes part only under secure aggregation
  std::optional<RequiredPrivacy> require_dp = {};  ///< takes part only with this protection; empty: always
  /// If set, the client answers only while its ledger stays within this limit, and refuses experiments without privacy.
  std::optional<PrivacyLimit> limit = {};
  /// The record of everything that the rows were spent on (dp/ledger/row_budget.hpp); empty: beside the client's own rows, and none
  /// if they are of a data set that all have.
  std::filesystem::path budget = {};
  std::optional<Endpoint> status = {};  ///< address of /healthz, /readyz and /metrics
  std::string status_token = {};        ///< required to read /metrics; empty: on loopback only
  NetworkLog log;
  /// User code that trains the client; empty: the client is trained as the experiment specifies. If the code fails, the client is
  /// left out of the round.
  OutsideTraining train = {};
  std::function<Evaluation(const Vector& model)> evaluate = {};  ///< evaluates models for the coordinator; empty: not offered
  std::function<void(const Setup& setup)> prepared = {};         ///< called when the experiment and the client's rows are known
};

/// Takes part until the coordinator ends the federation or *stop becomes true. The experiment comes from the coordinator; data,
/// ledger and secret key are the client's own. Reads the whole data set to compare its hash with the coordinator's, and then
/// frees all rows but the client's.
///
/// An answer is on disk before it is sent. If the last round is requested again with the same model, the answer is bit-identical;
/// requests with another model or for an earlier round are refused, so no noise address is used for two inputs. Throws Error.
MemberOutcome join_federation(const JoinOptions& options, const std::atomic<bool>* stop);

}  // namespace fedstride
