#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Each class is split over the clients in proportions drawn from the symmetric Dirichlet(alpha, ..., alpha) over the
/// clients (Yurochkin et al. 2019), so client sizes are unequal. Small alpha: few clients hold a class; large
/// alpha: all clients hold equal shares. No draw is repeated or rejected: a client left without a row gets one of the
/// largest client's.
struct Dirichlet {
  double alpha = 0.5;

  static constexpr std::string_view kName = "dirichlet";
  static constexpr std::string_view kSummary = "each class over the clients by Dirichlet(alpha), client sizes unequal";
  static constexpr Dealing kDealing = Dealing::labels;
  static constexpr auto kFields = std::tuple{
      Field{"alpha", &Dirichlet::alpha, "concentration; small: few clients hold a class, large: equal shares", kPositive},
  };

  Assignment assign(const PartitionInput& input) const;
};

}  // namespace fedstride
