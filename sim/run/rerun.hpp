#pragma once

#include <atomic>
#include <filesystem>
#include <optional>

#include "core/passing_folder.hpp"
#include "sim/run/drive.hpp"
#include "sim/run/model_tests.hpp"

namespace fedstride {

/// Repeats rounds of a run, with their evaluations, in a temporary folder. Spends no budget and records nothing elsewhere: with
/// the run's own rows and settings it draws the run's own noise, and with others it draws other noise (private_source).
class Rerun {
 public:
  /// Begins with the run's first round or, with `from`, after the checkpoint in that folder, whose clients' states lie beside it
  /// (kept_folder). `key`: that of the run, with secret randomness. The setup, which is prepared for FirstWeights::continued if
  /// `from` is set, is changed like that of any run, and must outlive the object. Throws Error (failure) if the checkpoint
  /// belongs to a run with other settings or data, or to another build.
  Rerun(Setup& setup, const FleetMaker& maker, const std::atomic<bool>* stop, const std::optional<SecretKey>& key = {},
        const std::filesystem::path& from = {});

  /// The next round; nothing if a privacy budget ends the run before it. Throws Stopped if it is stopped, and FailedRound like
  /// Drive::next.
  std::optional<RoundRecord> next();
  /// The state after the last round, as a checkpoint has it, but for times and the position in rounds.jsonl.
  Checkpoint state();
  /// The position of its own ledger, with all rounds so far.
  LedgerMark ledger() {
    privacy_.statements();
    return privacy_.mark();
  }
  std::uint32_t round() const { return drive_.state.round; }
  /// The model that is evaluated and saved.
  Vector answer() const { return drive_.server.answer(drive_.state.model); }
  /// Copies the clients' states as they are now to another folder, in the form that `from` has.
  void keep_states(const std::filesystem::path& folder) {
    drive_.fleet->keep_states(folder, drive_.state.configuration, drive_.state.round);
  }

 private:
  Checkpoint beginning(const std::filesystem::path& from, const std::optional<SecretKey>& key) const;

  Setup& setup_;
  PassingFolder folder_{"rerun"};
  RunPrivacy privacy_;
  Drive drive_;
  ModelTests tests_;
};

}  // namespace fedstride
