#pragma once

#include <string_view>
#include <tuple>

#include "core/family.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Each client draws its own class proportions from Dirichlet(alpha p), p the classes' shares of all rows, then that many
/// rows, one after the other, each of a class drawn from them; client sizes are equal up to one (Hsu, Qi & Brown 2019,
/// section 2). A class that has run out is left out and the other proportions are normalised again, so the first clients
/// follow the law exactly and the last take what is left.
struct DirichletBalanced {
  double alpha = 0.5;

  static constexpr std::string_view kName = "dirichlet-balanced";
  static constexpr std::string_view kSummary = "each client over the classes by Dirichlet(alpha p), client sizes equal";
  static constexpr auto kFields = std::tuple{
      Field{"alpha", &DirichletBalanced::alpha, "concentration; small: a client holds few classes, large: the overall mix",
            kPositive},
  };

  Assignment assign(const PartitionInput& input) const;
};

}  // namespace fedstride
