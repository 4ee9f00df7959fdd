#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "dp/accountants/selection.hpp"
#include "dp/ledger/ledger_entry.hpp"
#include "sweep/file/experiment.hpp"

namespace fedstride {

struct AccountedOptions {
  std::string out = {};  ///< folder; empty: sweeps/NAME
  int threads = 0;
  Selection selection = {};  ///< the distribution of the number of runs
  const std::atomic<bool>* stop = nullptr;
};

/// The privacy cost of the choice at one level, computed with Rényi divergences.
struct AccountedStatement {
  Level level = Level::example;
  double delta = 0;
  double single = 0;  ///< epsilon of one run
  double total = 0;   ///< epsilon of the winner, including the choice among runs
};

/// Returns the privacy statements for choosing among these cells. Throws Error (usage) unless all cells have the same privacy
/// (levels, delta, neighbors and releases), so every run costs the same; secret randomness, so runs are independent; and a score
/// that the statement covers (on public test rows, or by evaluate private).
std::vector<AccountedStatement> account_choice(const Experiment& experiment, const std::vector<Cell>& cells,
                                               const Selection& selection);

struct AccountedChoice {
  std::filesystem::path folder;
  bool interrupted = false;
  std::string cell = {};  ///< the winner's point; empty if the number of runs drawn was 0
  std::string metric = "accuracy";
  double score = 0;  ///< NaN: unknown
  std::vector<AccountedStatement> statements = {};
};

/// Makes a random number of runs, each of a cell drawn uniformly, and keeps the run whose final model has the best score
/// (Papernot & Steinke 2022). The number is never revealed. It is derived from runs.key, readable only by its owner, so a killed
/// sweep continues with the same number. At the end, the folder has winner/ (the best run's folder) and statement.json;
/// everything else, such as other runs, the key and the state, is removed. Throws Error: usage like account_choice, or if the
/// folder belongs to another sweep or is finished; failure if a run fails.
AccountedChoice sweep_accounted(const Experiment& experiment, const AccountedOptions& options);

}  // namespace fedstride
