#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sweep/results/paired.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// The finished configurations of a sweep, grouped by competition: methods compete within a condition, never across conditions.
/// Among configurations that differ only in tuned keys, the best is kept.
struct MethodTable {
  using Values = std::vector<std::string>;                         ///< one for each key; "" if a configuration lacks it
  std::vector<std::string> method_keys = {}, condition_keys = {};  ///< only those with several values
  std::vector<Values> methods = {}, conditions = {};
  std::vector<std::vector<Seeds>> seeds = {};  ///< [condition][method]; empty: no finished cell
};

/// A key belongs where [table] lists it. If only one of its lists is given, all other keys belong to the other. Otherwise
/// settings of training and aggregation are methods; data, clients, model, privacy, attack, cohort and rounds are conditions.
/// Keys tied by zip go together. The variants are methods unless they set only conditions. For commands other than run,
/// every key is a method's.
MethodTable method_table(const SweepResults& results);

/// A metric after the last round.
struct Comparison {
  std::string metric;
  bool is_compared = false;                         ///< an accuracy or a loss, and methods compete
  bool highest = true;                              ///< is best
  std::vector<std::vector<Compared>> entries = {};  ///< [condition][method]; tests are corrected within each condition
};
Comparison compare(const MethodTable& table, const std::string& metric);

/// The metrics that tables of results show, the main one first.
std::vector<std::string> compared_metrics(const SweepResults& results);

}  // namespace fedstride
