#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "sim/prepare/setup.hpp"
#include "sim/run/results.hpp"

namespace fedstride {

/// Ends a run before its last round by its results: at a level (stop-at), or after `patience` rounds in which the loss on validation
/// rows, or on test rows if there are none, was not below its least so far.
class StopRule {
 public:
  explicit StopRule(const Setup& setup);

  /// Looks at the rounds that an earlier session has left in rounds.jsonl; returns why the run ends after the last of them, or
  /// nothing.
  std::string read(const std::filesystem::path& rounds);
  /// Looks at a round; returns why the run ends after it, or nothing.
  std::string after(const RoundRecord& record);

 private:
  std::string after(std::uint32_t round, double value, double loss);

  const Configuration& configuration_;
  bool validates_;
  double least_ = std::numeric_limits<double>::infinity();
  std::uint32_t round_of_least_ = 0;
};

}  // namespace fedstride
