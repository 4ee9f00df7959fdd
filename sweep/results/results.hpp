#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sweep/file/cost.hpp"
#include "sweep/file/experiment.hpp"
#include "sweep/results/numbers.hpp"

namespace fedstride {

using NameSet = std::set<std::string, std::less<>>;

/// Adds the name of every number in these rounds, clients or cells to `names`.
template <class Entries>
void add_names(const Entries& entries, NameSet& names) {
  for (const auto& entry : entries)
    for (const auto& [name, value] : entry.numbers)
      if (names.find(name) == names.end()) names.insert(name);
}

/// The contents of a cell's folder.
struct CellResult {
  struct Round {
    std::uint32_t round = 0;
    Numbers numbers;  ///< only finite numbers, here and below
    std::string model_hash;
  };
  struct Client {
    std::uint32_t round = 0;
    std::uint32_t client = 0;
    Numbers numbers;
  };
  Cell cell;
  std::string status = "missing";  ///< "finished", "unfinished", "failed" or "missing"
  std::string error = {};
  Numbers numbers = {};                           ///< after the last round; for other commands, all numbers in their output
  std::map<std::string, std::string> texts = {};  ///< hashes, version, compiler, instruction set, privacy notes
  std::vector<Round> rounds = {};
  std::vector<Client> clients = {};
  std::vector<std::vector<std::uint64_t>> rows_per_class = {};  ///< [client][class]; empty if not published
  std::vector<std::string> class_names = {};                    ///< empty if the data have none, or not published

  std::string text(const std::string& name) const {
    const auto found = texts.find(name);
    return found == texts.end() ? "" : found->second;
  }
};

/// The mean over seeds of one metric of one configuration.
struct SummaryRow {
  std::string configuration;
  std::vector<std::pair<std::string, std::string>> point = {};  ///< the configuration's point without the seed
  std::string metric;
  std::optional<std::uint32_t> round = {};   ///< empty: after the last round
  std::optional<std::uint32_t> client = {};  ///< empty: the federation
  int n = 0;                                 ///< number of seeds
  double mean = 0;
  double deviation = 0;  ///< standard deviation with divisor n - 1; NaN for n = 1
  double low = 0;        ///< 95 % interval by Student's t; NaN for n = 1
  double high = 0;
  int rank = 0;  ///< rank in the tuned grid; 1: best; 0: nothing is tuned
};

struct ExpectationResult {
  Expectation expectation;
  std::string status;  ///< "holds", "fails", "not run"
  double value = 0;
  double other = 0;
  std::string text;  ///< "0.442 against 0.431", or the reason for "not run"
};

/// The contents of a sweep's folder. If the sweep is too large for memory, cells have no rounds, clients or rows_per_class, and
/// the summary lacks rows by round; write_tables reads these again, one configuration at a time.
struct SweepResults {
  std::filesystem::path folder;
  Experiment experiment;
  std::vector<CellResult> cells = {};  ///< in the grid's order
  std::vector<SummaryRow> summary = {};
  std::vector<ExpectationResult> expectations = {};
  std::map<std::string, std::string> machine = {};  ///< processor, cores, memory, version, compiler; commit if known
  bool rounds_left_out = false;                     ///< whether cells lack rounds, clients and rows_per_class
  std::vector<std::string> round_metrics = {};      ///< metrics of any round; used if rounds_left_out
  std::vector<std::string> client_metrics = {};     ///< metrics of any client
  std::string left_out = {};                        ///< one line that names the rows found only in summary.csv; empty: none
};

/// Limits on data held in memory: bytes of rounds.jsonl files, and rows of the summary. The tables contain the rest.
struct ReadLimits {
  std::uint64_t held_bytes = std::uint64_t{64} << 20;
  std::size_t rows = 500'000;  ///< per kind: by round, by client, by round and client
};

/// Reads the folder of a sweep, or of one run as a sweep of one cell. A damaged cell counts as failed, with its error. Throws
/// Error (usage) if the folder contains neither.
SweepResults read_results(const std::filesystem::path& folder, const ReadLimits& limits = {});

/// Returns the swept keys in the order of the axes, without repetition.
std::vector<std::string> swept_keys(const SweepResults& results);

/// Returns the accuracy of always predicting the test rows' most common class, if it is the same in all cells that have one.
std::optional<double> chance_accuracy(const SweepResults& results);

/// Checks the experiment's claims; returns one result for each claim, in order. Never throws: a claim that cannot be checked is
/// "not run".
std::vector<ExpectationResult> check(const Experiment& experiment, const std::vector<CellResult>& cells,
                                     const std::vector<SummaryRow>& summary);

/// Adds the number `megabytes`, the amount sent and received up to the round's end, to each round for which it is known.
void add_megabytes(CellResult& cell);

/// Adds test_target_reached (1 or 0) to a cell's numbers and, if it is 1, test_rounds_to_target, test_seconds_to_target and
/// test_megabytes_to_target, if known; also validation_... if rounds were evaluated on validation rows.
void add_to_target(const Target& target, CellResult& cell);

/// Writes cells.csv, rounds.csv, clients.csv, summary.csv and expectations.csv (RFC 4180; docs/results.md describes every
/// column). Each file is replaced atomically. The same results give the same bytes, except in the columns in kTimings.
void write_tables(const SweepResults& results);

}  // namespace fedstride
