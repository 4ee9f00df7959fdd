#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/function_ref.hpp"
#include "sweep/results/results.hpp"

namespace fedstride {

/// The cells of one configuration in the grid's order, that is in the order of the seeds.
using Seeds = std::vector<const CellResult*>;

/// Means, intervals and places, from the cells that are finished. Timings are no results and are left out.
std::vector<SummaryRow> summarise(const Experiment& experiment, const std::vector<CellResult>& cells);

/// Configurations in order of first appearance.
std::vector<Seeds> by_configuration(const std::vector<CellResult>& cells);

struct SeedStatistics {
  int n = 0;
  double mean = 0;
  double deviation = 0;  ///< NaN for n = 1, like low and high
  double low = 0;
  double high = 0;
};
/// Adds up in the order of the values, so that the bits repeat.
SeedStatistics statistics(std::span<const double> values);

/// A row of the summary without what all rows of its configuration share.
struct SummaryLine {
  std::string_view metric;
  std::optional<std::uint32_t> round = {};
  std::optional<std::uint32_t> client = {};
  SeedStatistics statistics = {};
};

/// The lines wanted of a configuration besides those of the federation after the last round.
struct SummaryKinds {
  bool rounds = true;                        ///< of the federation by round
  bool clients = true;                       ///< of clients after the last round
  bool client_rounds = true;                 ///< of clients by round
  std::set<std::uint32_t> some_rounds = {};  ///< of the federation, without `rounds`
};

/// The lines of one configuration's finished cells: after the last round (federation, clients), then by round.
void summarise_configuration(const Seeds& seeds, const SummaryKinds& kinds, function_ref<void(const SummaryLine&)> visit);

/// The summary row of one line.
SummaryRow summary_row(const Cell& cell, int rank, const SummaryLine& line);

/// Columns that a second run does not repeat.
inline constexpr std::string_view kTimings[] = {"seconds", "evaluation_seconds", "examples_per_second", "peak_memory_bytes"};

bool is_timing(std::string_view metric);

}  // namespace fedstride
