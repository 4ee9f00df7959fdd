#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/choice.hpp"

namespace fedstride {

/// A measure of cost, against which results are plotted: rounds, virtual seconds (docs/time.md), or megabytes sent and received.
enum class Cost : std::uint8_t { rounds, time, bytes };
constexpr auto choice_names(Cost) { return names("rounds", "time", "bytes"); }

struct CostWords {
  std::string_view metric;     ///< metric with the cumulative cost after each round; empty: the cost is the round's number
  std::string_view axis;       ///< axis label
  std::string_view title;      ///< "Test accuracy by ..."
  std::string_view to_target;  ///< name of the metric without test_ or validation_
};
constexpr CostWords cost_words(Cost by) {
  constexpr CostWords kWords[] = {{"", "round", "round", "rounds_to_target"},
                                  {"virtual_seconds", "virtual seconds", "virtual time", "seconds_to_target"},
                                  {"megabytes", "megabytes sent and received", "megabytes", "megabytes_to_target"}};
  return kWords[static_cast<std::size_t>(by)];
}

/// The table [target]. A run reaches its target at the first of kEvaluationsInARow consecutive evaluations at or above it (for a
/// loss, at or below).
struct Target {
  std::string metric = {};  ///< "accuracy", "r2" or "loss"; empty: none
  double at = 0;
  bool is_declared() const { return !metric.empty(); }
};
inline constexpr int kEvaluationsInARow = 3;

/// True for metrics that a run lacks if it did not reach its target.
constexpr bool is_to_target(std::string_view metric) { return metric.ends_with("_to_target"); }
/// True for metrics whose lowest value is the best.
constexpr bool is_best_lowest(std::string_view metric) { return metric.ends_with("loss") || is_to_target(metric); }

}  // namespace fedstride
