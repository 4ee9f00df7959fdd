#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/function_ref.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// The cells of one configuration, one per seed, in the grid's order.
using Seeds = std::vector<const CellResult*>;

/// Returns means, intervals and ranks over the finished cells, without timings.
std::vector<SummaryRow> summarize(const Experiment& experiment, const std::vector<CellResult>& cells);

/// Groups the cells by configuration, in order of first appearance.
std::vector<Seeds> by_configuration(const std::vector<CellResult>& cells);

/// Returns indices of configurations from best to worst, by the mean over finished seeds of the tuning metric after the last
/// round. Configurations that lack the metric for some seed (for example, because the loss is not finite) come last; those
/// that lack it for all seeds are omitted. Ties keep the given order.
std::vector<std::size_t> ordered(const Tuning& tuning, const std::vector<Seeds>& configurations);

/// Returns each configuration's rank among configurations that differ only in tuned keys; 1: best.
std::unordered_map<std::string, int> places(const Experiment& experiment, const std::vector<CellResult>& cells);

struct SeedStatistics {
  int n = 0;
  double mean = 0;
  double deviation = 0;  ///< NaN for n = 1, like low and high
  double low = 0;
  double high = 0;
};
/// Sums the values in the given order, so results are reproducible bit for bit.
SeedStatistics statistics(std::span<const double> values);

/// A row of the summary without the fields that all rows of its configuration share.
struct SummaryLine {
  std::string_view metric;
  std::optional<std::uint32_t> round = {};
  std::optional<std::uint32_t> client = {};
  SeedStatistics statistics = {};
};

/// The kinds of lines to visit in addition to the federation's lines after the last round.
struct SummaryKinds {
  bool rounds = true;                        ///< the federation by round
  bool clients = true;                       ///< clients after the last round
  bool client_rounds = true;                 ///< clients by round
  std::set<std::uint32_t> some_rounds = {};  ///< the federation after these rounds, even if not `rounds`
};

/// Visits the lines of one configuration's finished cells: after the last round (federation, clients), then by round.
void summarize_configuration(const Seeds& seeds, const SummaryKinds& kinds, function_ref<void(const SummaryLine&)> visit);

/// Returns the summary row for one line.
SummaryRow summary_row(const Cell& cell, int rank, const SummaryLine& line);

/// Metrics that differ between repetitions of the same run.
inline constexpr std::string_view kTimings[] = {"seconds", "evaluation_seconds", "examples_per_second", "peak_memory_bytes"};

bool is_timing(std::string_view metric);

}  // namespace fedstride
