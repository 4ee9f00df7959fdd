#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Label skew as the code of NIID-Bench deals it (Li, Diao, Chen & He 2022, "noniid-labeldir"): one class after the other is split
/// over the clients in proportions drawn from the symmetric Dirichlet(alpha, ..., alpha), in which a client that already has
/// N / K of the N rows or more has no share. The first k clients together get the cumulative share of the class, rounded down, and
/// the last client with a share the rest. The whole draw is repeated until every client has `least_rows`.
/// Errors: usage if there are not so many rows, or no draw of many suits.
struct DirichletCapped {
  double alpha = 0.5;
  int least_rows = 10;

  static constexpr std::string_view kName = "dirichlet-capped";
  static constexpr std::string_view kSummary =
      "each class by Dirichlet(alpha) over the clients that have less than an equal share of the rows";
  static constexpr Dealing kDealing = Dealing::labels;
  static constexpr auto kFields = std::tuple{
      Field{"alpha", &DirichletCapped::alpha, "concentration; small: few clients hold a class, large: equal shares", kPositive},
      Field{"least-rows", &DirichletCapped::least_rows, "draw again until every client has this many rows; 0: never again",
            Valid{.low = 0, .high = 1e9}},
  };

  Assignment assign(const PartitionInput& input) const;
};

}  // namespace fedstride
