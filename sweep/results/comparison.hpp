#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sweep/results/paired.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// The finished configurations of a sweep, grouped for comparison: methods compete within a condition, never across conditions.
/// Of configurations that differ only in tuned keys, only the best is kept.
struct MethodTable {
  using Values = std::vector<std::string>;                         ///< one for each key; "" if a configuration lacks the key
  std::vector<std::string> method_keys = {}, condition_keys = {};  ///< only keys with several values
  std::vector<Values> methods = {}, conditions = {};
  std::vector<std::vector<Seeds>> seeds = {};  ///< [condition][method]; empty: no finished cell
};

/// A key belongs where [table] lists it. If [table] has only one list, all other keys belong to the other list. Otherwise, a
/// key's kind decides: settings of training and aggregation are methods; data, clients, model, privacy, attack, cohort and
/// rounds are conditions. Keys tied by zip stay together. Variants are methods unless they set only conditions. For commands
/// other than run, all remaining keys are methods.
MethodTable method_table(const SweepResults& results);

/// All methods compared by one metric after the last round.
struct Comparison {
  std::string metric;
  bool is_compared = false;                         ///< whether the metric has a best direction, and methods compete
  bool highest = true;                              ///< whether the highest value is best
  std::vector<std::vector<Compared>> entries = {};  ///< [condition][method]; p-values are corrected within each condition
};
Comparison compare(const MethodTable& table, const std::string& metric);

/// Returns the metrics shown in tables of results, the main metric first.
std::vector<std::string> compared_metrics(const SweepResults& results);

}  // namespace fedstride
