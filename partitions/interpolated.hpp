#pragma once

#include "partitions/partitions.hpp"

namespace fedstride {

struct InterpolatedSettings {
  double random_fraction = 0.33;                     ///< r
  AutoWhole classes_per_client = {.is_auto = true};  ///< as in Pathological

  static constexpr auto kFields = fields(
      Field{"random-fraction", &InterpolatedSettings::random_fraction, "fraction of the rows assigned at random", kFraction}
          .often(),
      Field{"classes-per-client", &InterpolatedSettings::classes_per_client, kClassesPerClientHelp, kNonNegative});
};

/// Interpolates between a pathological and a uniformly random partition (Koskela & Honkela, Figures 1 to 3): starting from the
/// pathological assignment, a random fraction r of all rows goes into a pool that is dealt at random so that client sizes differ
/// by at most one. If the pathological sizes differ by more than the pool can even out, the smallest clients get its rows first.
/// r = 0 is `pathological` and r = 1 is `iid`, row for row.
struct Interpolated final : PartBase<PartitionPart, Interpolated, InterpolatedSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "interpolated";
  static constexpr std::string_view kSummary = "a fraction of the rows at random, the rest pathological, client sizes equal";

  Dealing dealing() const override { return Dealing::labels; }
  const AutoWhole* classes_in_turn() const override { return &classes_per_client; }
  ClientRows assign(const PartitionInput& input) const override;
};

}  // namespace fedstride
