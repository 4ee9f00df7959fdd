#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/choice.hpp"

namespace fedstride {

/// A measure of cost, against which results are plotted: rounds, virtual seconds (docs/time.md), or megabytes sent and received.
enum class Cost : std::uint8_t { rounds, time, bytes };
constexpr auto choice_names(Cost) { return names("rounds", "time", "bytes"); }

/// The table [target]. A run reaches its target at the first of three consecutive evaluations at or above it (for a
/// loss, at or below).
struct Target {
  std::string metric = {};  ///< "accuracy", "r2" or "loss"; empty: none
  double at = 0;
  bool is_declared() const { return !metric.empty(); }
};

/// True for metrics that a run lacks if it did not reach its target.
constexpr bool is_to_target(std::string_view metric) { return metric.ends_with("_to_target"); }

}  // namespace fedstride
