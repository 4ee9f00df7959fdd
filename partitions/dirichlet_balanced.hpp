#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Client sizes are equal up to one. Each client draws its class proportions from Dirichlet(alpha p), p the classes'
/// shares of all rows, then its rows, each of a class drawn from those proportions (Hsu, Qi & Brown 2019). A class that
/// has run out is left out and the other proportions are normalised again, so the first clients follow the law exactly
/// and the last take the remaining rows.
struct DirichletBalanced {
  double alpha = 0.5;

  static constexpr std::string_view kName = "dirichlet-balanced";
  static constexpr std::string_view kSummary = "each client over the classes by Dirichlet(alpha p), client sizes equal";
  static constexpr Dealing kDealing = Dealing::labels;
  static constexpr auto kFields = std::tuple{
      Field{"alpha", &DirichletBalanced::alpha, "concentration; small: a client holds few classes, large: the overall mix",
            kPositive},
  };

  Assignment assign(const PartitionInput& input) const;
};

}  // namespace fedstride
