#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Between pathological and uniformly random (Koskela & Honkela, Figures 1 to 3): the pathological assignment, from
/// which a fraction r of all rows, chosen at random, goes into a pool that is dealt out at random, so that client sizes
/// become equal up to one; if the pathological sizes differ by more than the pool can level, the smallest are raised
/// first. r = 0 is `pathological` and r = 1 is `iid`, row for row.
struct Interpolated {
  double random_fraction = 0.33;  ///< r
  int classes_per_client = 0;     ///< as in Pathological

  static constexpr std::string_view kName = "interpolated";
  static constexpr std::string_view kSummary = "a fraction of the rows at random, the rest pathological, client sizes equal";
  static constexpr Dealing kDealing = Dealing::labels;
  static constexpr auto kFields = std::tuple{
      Field{"random-fraction", &Interpolated::random_fraction, "share of the rows that is dealt out at random", kFraction},
      Field{"classes-per-client", &Interpolated::classes_per_client, "classes each client holds; 0: as few as cover every class",
            kNonNegative},
  };

  Assignment assign(const PartitionInput& input) const;
};

}  // namespace fedstride
