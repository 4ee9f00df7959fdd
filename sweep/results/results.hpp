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

#include "sweep/file/experiment.hpp"
#include "sweep/results/numbers.hpp"

namespace fedstride {

using NameSet = std::set<std::string, std::less<>>;

/// Adds the names of the numbers of these rounds, clients or cells.
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
    Numbers numbers;  ///< those that are finite, here and below
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
  Numbers numbers = {};                           ///< after the last round; of another command than run: all its numbers
  std::map<std::string, std::string> texts = {};  ///< hashes, version, compiler, instruction set, notes of privacy
  std::vector<Round> rounds = {};
  std::vector<Client> clients = {};
  std::vector<std::vector<std::uint64_t>> rows_per_class = {};  ///< one list a client; empty if not published
};

/// Mean over seeds of one metric of one configuration.
struct SummaryRow {
  std::string configuration;
  std::vector<std::pair<std::string, std::string>> point = {};  ///< without the seed
  std::string metric;
  std::optional<std::uint32_t> round = {};   ///< empty: after the last round
  std::optional<std::uint32_t> client = {};  ///< empty: of the federation
  int n = 0;                                 ///< seeds
  double mean = 0;
  double deviation = 0;  ///< standard deviation with n - 1; NaN for n = 1
  double low = 0;        ///< 95 % interval by Student's t; NaN for n = 1
  double high = 0;
  int rank = 0;  ///< place in the tuned grid, 1: best; 0: nothing is tuned here
};

struct ExpectationResult {
  Expectation expectation;
  std::string status;  ///< "holds", "fails", "not run"
  double value = 0;
  double other = 0;
  std::string text;  ///< "0.442 against 0.431", or what is missing
};

/// The contents of a sweep's folder. If the sweep is too large to hold, cells have no rounds, clients and rows_per_class,
/// and the summary lacks rows by round; write_tables reads them again, one configuration at a time.
struct SweepResults {
  std::filesystem::path folder;
  Experiment experiment;
  std::vector<CellResult> cells = {};  ///< in the grid's order
  std::vector<SummaryRow> summary = {};
  std::vector<ExpectationResult> expectations = {};
  std::map<std::string, std::string> machine = {};  ///< processor, cores, memory, version, compiler, commit if known
  bool rounds_left_out = false;                     ///< cells have no rounds, clients and rows_per_class
  std::vector<std::string> round_metrics = {};      ///< names of numbers that some round, some client has; with rounds_left_out
  std::vector<std::string> client_metrics = {};
  std::string left_out = {};  ///< one line on rows of the summary that are in summary.csv alone; empty: none
};

/// Limits on the part of a sweep's rounds.jsonl files and on the rows of the summary that are held in memory; the rest is in
/// the tables alone.
struct ReadLimits {
  std::uint64_t held_bytes = std::uint64_t{64} << 20;
  std::size_t rows = 500'000;  ///< of each kind: by round, by client, by round and client
};

/// Reads the folder of a sweep (or of one run: then a sweep of one cell). A damaged cell counts as failed, with its error.
/// Throws Error (usage) if the folder holds neither.
SweepResults read_results(const std::filesystem::path& folder, const ReadLimits& limits = {});

}  // namespace fedstride
