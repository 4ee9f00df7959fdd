#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "dp/ledger/audit.hpp"
#include "sim/settings/configuration.hpp"

namespace fedstride {

/// The files of a run's folder that record its progress: summary.json, model.safetensors, checkpoint, rounds.jsonl. They are read
/// before the ledger, so that the ledger of a run in progress is never behind them.
class RunRecords {
 public:
  /// Throws Error (failure) for a file that is damaged or records no ledger.
  explicit RunRecords(const std::filesystem::path& run);

  /// The ledger positions that the files record.
  std::vector<LedgerMark> marks() const;

  /// Adds a failure to `audit` for each contradiction with the ledger or among the files, and a note on missing files. Without
  /// settings, the rounds' models are not compared with the models in summary.json and model.safetensors. Recomputes the claims
  /// of summary.json: statements (whose text must be identical) from the ledger up to the summary's mark, results from the
  /// rounds, and the model from its file. Throws Error (failure) like read_ledger.
  void compare(const std::filesystem::path& ledger, std::string_view key, const std::optional<Configuration>& settings,
               Audit& audit) const;

 private:
  struct Summary {
    Json json;
    bool is_as_written = true;  ///< its bytes are those that its contents have: no key twice
    bool is_of_this_version = true;
    std::uint64_t rounds = 0;
    std::string model_hash;
    LedgerMark ledger;
  };
  struct SavedModel {
    std::string line;
    std::uint64_t parameters = 0;
    std::uint64_t rounds = 0;
    std::string model_hash;  ///< in the file's metadata
    std::string hash;        ///< hash of the weights
    bool has_schema = true;  ///< true if it has the schema in schema.json, or there is no such file
    std::string schema;      ///< its schema's text
    std::string dataset;
  };
  struct Position {
    std::uint64_t round = 0;
    std::string model_hash;
    LedgerMark ledger;
    bool results_match = false;     ///< rounds.jsonl begins with the lines recorded in the checkpoint
    std::uint64_t later_round = 0;  ///< round of the checkpoint when read again after rounds.jsonl
  };
  struct Result {
    std::string model_hash;
    bool released = true;                                   ///< false if its line shows that there was no release
    std::map<std::string, Json, std::less<>> numbers = {};  ///< the fields in kRepeated and kAddedUp
    std::map<Level, SpentSoFar> spent = {};                 ///< by level
  };
  void read_results(const std::filesystem::path& path, std::uint64_t checkpointed_bytes, std::string_view checkpointed_hash);
  std::string result_of(std::uint64_t round) const;
  void compare_checkpoint(std::vector<std::string>& failures) const;
  void compare_summary(bool saves_rounds, std::vector<std::string>& failures) const;
  void compare_model(bool saves_rounds, std::vector<std::string>& failures) const;
  /// `book`: the ledger up to the summary's mark.
  void compare_claims(const LedgerBook& book, const std::optional<Configuration>& settings, Audit& audit) const;

  std::optional<Summary> summary_;
  std::optional<SavedModel> model_;
  std::optional<Position> checkpoint_;
  std::optional<std::vector<Result>> results_;  ///< by round, from 1
  /// The spending in each round's line against the ledger.
  void compare_spent(const std::filesystem::path& ledger, std::string_view key, Audit& audit) const;
  void compare_schema(const LedgerHeader& header, const std::optional<Configuration>& settings, Audit& audit) const;
  void list_unchecked(Audit& audit) const;

  std::string schema_;                 ///< the contents of schema.json; empty: there is none
  std::set<std::string> result_keys_;  ///< of all lines of rounds.jsonl; "clients.KEY" of clients
  std::string order_error_;            ///< names the first out-of-order line of rounds.jsonl; empty if none
};

}  // namespace fedstride
