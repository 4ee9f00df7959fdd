#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/client_report.hpp"
#include "dp/ledger/ledger_file.hpp"
#include "dp/ledger/privacy_statement.hpp"
#include "nn/evaluation.hpp"
#include "sim/settings/client_reports.hpp"
#include "sim/time/round_time.hpp"

namespace fedstride {

struct Configuration;
class Json;
struct Setup;
struct Spread;

/// One finished round: a line of rounds.jsonl.
struct RoundRecord {
  std::uint32_t round = 0;
  std::string_view metric = "accuracy";        ///< the metric of the evaluations (Evaluation::metric)
  std::optional<Evaluation> test = {};         ///< in evaluated rounds
  std::vector<NamedNumber> test_metrics = {};  ///< Metrics::numbers of `test`, if they are asked for
  bool test_is_covered = false;                ///< `test` depends on public rows only, or is an accounted release
  std::optional<Evaluation> validation = {};   ///< in evaluated rounds, with a validation split
  std::vector<ClientReport> clients = {};
  RoundTotals totals = {};                        ///< totals over these clients
  std::optional<double> backdoor_success = {};    ///< share of images with the trigger that are classified as its target
  std::vector<GroupEvaluation> client_test = {};  ///< by client, on its own test rows; empty without them or without `test`
  std::vector<double> client_accuracy = {};       ///< by client: test accuracy on its mix of classes; empty without `test`
  std::vector<NamedNumber> numbers = {};          ///< Server::numbers
  RoundBytes bytes = {};                          ///< bytes of the round's frames, actual or planned
  double seconds = 0;                             ///< training and averaging, without evaluation
  double evaluation_seconds = 0;                  ///< 0 in rounds without evaluation
  std::string model_hash = {};
  std::optional<SpentSoFar> example_spent = {};  ///< example-level privacy, of the client that has spent most
  std::optional<SpentSoFar> client_spent = {};   ///< client-level privacy
  std::optional<RoundTime> time = {};            ///< with virtual time

  /// True if clients took steps and all steps were undone, so only the clients' learning rates changed.
  bool is_idle() const { return totals.sums.steps > 0 && totals.sums.rejected == totals.sums.steps; }
  /// The number of clients whose update was left out.
  std::uint64_t failures() const;
};

/// The keys that summary.json may have.
std::span<const std::string_view> summary_keys();

/// The outcome of a run.
struct RunSummary {
  std::uint32_t rounds = 0;  ///< finished in all sessions of the run
  bool interrupted = false;
  bool paused = false;  ///< interrupted between two rounds, as RunObserver::pause asked, and not stopped
  std::string halted =
      {};  ///< why the run ended before its last round (a privacy budget, stop-at, patience); empty if it did not
  Evaluation test = {};
  bool test_is_covered = false;  ///< RoundRecord::test_is_covered
  std::string folder = {};
  std::uint64_t examples = 0;
  RoundBytes bytes = {};                              ///< RoundRecord::bytes of all rounds
  double seconds = 0;                                 ///< training and averaging
  double evaluation_seconds = 0;                      ///< including the final evaluation
  std::uint64_t idle_rounds = 0;                      ///< RoundRecord::is_idle
  std::uint64_t failures = 0;                         ///< updates left out in this session
  std::uint64_t session_rounds = 0;                   ///< rounds finished in this session
  std::uint64_t failed_rounds = 0;                    ///< rounds in this session with updates left out
  std::map<std::string, std::uint64_t> reasons = {};  ///< why updates were left out, and how often
  std::string failed = {};                            ///< why a failed round ended the run; empty if none did
  std::optional<TimeTotals> time = {};                ///< of all sessions, with virtual time
  std::vector<PrivacyStatement> privacy = {};
  LedgerMark ledger = {};
  std::uint64_t pieces_helped = 0;  ///< pieces of clients' steps that other threads ran in this session
};

/// The distribution of a number over the clients that have test rows.
Spread spread_of_clients(const std::vector<GroupEvaluation>& clients, double GroupEvaluation::*number);

/// The accuracies of which rounds report the worst and the best: clients' own on their test rows or, without such rows, those on
/// their mixes of classes.
std::vector<double> accuracies_of_clients(const RoundRecord& record);

/// A round's line of rounds.jsonl. Numbers that are not finite and missing evaluations are null. Under privacy, fields that no
/// guarantee covers are listed under "not_covered", or left out if `publishable`. If `reports` leaves clients out, the line
/// itself has sums and means over all clients.
std::string round_json(const RoundRecord& record, bool publishable, const ClientReports& reports = {});

/// The note "in 2 of 3 rounds clients were left out, 7 updates in all: its training diverged (7)"
std::string failures_text(const RunSummary& summary);

/// The note "in 3 of 40 rounds every step of every client was undone; start with a --learning-rate below 0.1, ...": the number of
/// idle rounds (RoundRecord::is_idle) and advice. idle_rounds_advice returns only the advice.
std::string idle_rounds_text(const Configuration& configuration, std::uint64_t idle, std::uint64_t rounds);
std::string idle_rounds_advice(const Configuration& configuration);

/// The fields of a summary under privacy that no guarantee covers.
std::vector<std::string> uncovered_of_summary(const Json& summary, bool test_is_covered);

/// The text of summary.json: results, build and machine. Under privacy, uncovered fields are treated as in round_json, and hashes
/// of the data are left out.
std::string summary_json(const Setup& setup, const RunSummary& summary, const std::string& model_hash);

}  // namespace fedstride
