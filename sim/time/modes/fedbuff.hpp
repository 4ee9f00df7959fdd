#pragma once

#include "sim/time/modes/staleness.hpp"

namespace fedstride {

struct FedBuffSettings : AsynchronousSettings {
  int buffer_ = 10;
  bool normalized_staleness = false;
  static constexpr auto kFields = fields(
      AsynchronousSettings::kFields,
      Field{"buffer", &FedBuffSettings::buffer_, "updates in a version; at most concurrency", Valid{.low = 1, .high = 1e7}},
      Field{"normalized-staleness", &FedBuffSettings::normalized_staleness,
            "divide by the sum of the staleness weights, not by the number of updates"});
};
/// x <- x + eta (1 / K) sum s(t_i) D_i over a buffer of K updates, each relative to the version from which its task
/// began; eta is the server's learning rate.
struct FedBuff final : AsynchronousMode<FedBuff, FedBuffSettings> {
  using AsynchronousMode::AsynchronousMode;
  static constexpr std::string_view kName = "fedbuff";
  static constexpr std::string_view kSummary = "a version for each full buffer of updates (Nguyen et al. 2022)";
  int buffer() const override { return buffer_; }
  double scale(std::uint32_t staleness) const { return weight(staleness); }
  Vector change(Vector mean, const SummedUpdates& updates, const Vector& /*model*/) const {
    if (const double divisor = normalized_staleness ? mean_weight(updates) : 1; divisor != 1)
      for (float& value : mean) value = static_cast<float>(value / divisor);
    return mean;
  }
};

}  // namespace fedstride
