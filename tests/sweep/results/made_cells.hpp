#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sweep/results/results.hpp"

namespace fedstride::test {

using Point = std::vector<std::pair<std::string, std::string>>;

/// A finished cell with what is given; its configuration is its point without the seed.
inline CellResult made_cell(const Point& point, const Numbers& numbers) {
  CellResult result;
  result.cell.point = point;
  for (const auto& [key, value] : point) {
    result.cell.key += key + value;
    if (key != "seed") result.cell.configuration += key + value;
  }
  result.cell.command = "fedstride run";
  result.status = "finished";
  result.numbers = numbers;
  return result;
}

inline Axis made_axis(const std::string& key, const std::vector<std::string>& labels) {
  Axis axis{.keys = {key}, .values = {}};
  for (const auto& label : labels) axis.values.push_back({.settings = {}, .labels = {label}});
  return axis;
}

inline Experiment made_experiment(const std::vector<Axis>& axes) {
  Experiment experiment;
  experiment.name = "made";
  experiment.title = "Made";
  experiment.scale = "full";
  experiment.axes = axes;
  return experiment;
}

/// The row of a federation; nullptr if there is none or there are several.
inline const SummaryRow* row_of(const std::vector<SummaryRow>& rows, const std::string& configuration, const std::string& metric,
                                std::optional<std::uint32_t> round = {}, std::optional<std::uint32_t> client = {}) {
  const SummaryRow* found = nullptr;
  for (const SummaryRow& row : rows) {
    if (row.configuration != configuration || row.metric != metric || row.round != round || row.client != client) continue;
    if (found != nullptr) return nullptr;
    found = &row;
  }
  return found;
}

}  // namespace fedstride::test
