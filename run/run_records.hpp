#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dp/ledger/audit.hpp"
#include "run/configuration.hpp"

namespace fedstride {

/// The files of a run's folder that say how far it has come: summary.json, model.safetensors, checkpoint, rounds.jsonl. They are read
/// before the ledger is, so that the ledger of a run that goes on meanwhile is ahead of them, as after a kill, and never behind.
class RunRecords {
 public:
  /// Throws Error (failure) for a file that is damaged, or that remembers no ledger.
  explicit RunRecords(const std::filesystem::path& run);

  /// The positions of the ledger that they remember.
  std::vector<LedgerMark> marks() const;

  /// Adds a failure for each way in which they contradict the ledger or each other, and a note on those that are missing. Without
  /// settings the rounds' models are not compared with those of the summary and of model.safetensors. Throws Error (failure) as
  /// read_ledger does.
  void compare(const std::filesystem::path& ledger, std::string_view key, const std::optional<Configuration>& settings,
               Audit& audit) const;

 private:
  struct Summary {
    std::uint64_t rounds = 0;
    std::string model_hash;
    LedgerMark ledger;
  };
  struct SavedModel {
    std::uint64_t rounds = 0;
    std::string model_hash;  ///< as its metadata say
    std::string hash;        ///< of its weights
  };
  struct Position {
    std::uint64_t round = 0;
    std::string model_hash;
    LedgerMark ledger;
    bool are_its_results = false;   ///< rounds.jsonl begins with the lines that it remembers
    std::uint64_t round_after = 0;  ///< of the checkpoint that was there after rounds.jsonl had been read
  };
  struct Result {
    std::string model_hash;
    bool released = true;  ///< false if it shows that nobody released anything
  };
  void read_results(const std::filesystem::path& path, std::uint64_t checkpointed_bytes, std::string_view checkpointed_hash);
  std::string result_of(std::uint64_t round) const;
  void compare_checkpoint(std::vector<std::string>& failures) const;
  void compare_summary(bool saves_rounds, std::vector<std::string>& failures) const;
  void compare_model(bool saves_rounds, std::vector<std::string>& failures) const;

  std::optional<Summary> summary_;
  std::optional<SavedModel> model_;
  std::optional<Position> checkpoint_;
  std::optional<std::vector<Result>> results_;  ///< by round, from 1
  std::string disorder_;                        ///< of the results: the first line that has no place; empty if there is none
};

}  // namespace fedstride
