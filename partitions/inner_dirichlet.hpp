#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Each client's class priors are drawn from the symmetric Dirichlet(alpha, ..., alpha) over the classes, whatever the classes'
/// shares of all rows are (Acar et al. 2021, FedDyn; Flower Datasets' inner Dirichlet partitioner). Then the rows are
/// dealt out one by one, without replacement: a client that is not full yet, drawn uniformly, takes a row of a class drawn from
/// its priors. A class that has run out is left out, for everybody at once, so that it is the last rows of all clients that
/// stray from the priors and not the rows of the last clients. Client sizes are equal up to one, or in proportion to
/// exp(size-sigma z), z standard normal.
struct InnerDirichlet {
  double alpha = 0.5;
  double size_sigma = 0;

  static constexpr std::string_view kName = "inner-dirichlet";
  static constexpr std::string_view kSummary = "each client's class priors by Dirichlet(alpha), sizes equal or lognormal";
  static constexpr Dealing kDealing = Dealing::labels;
  static constexpr auto kFields = std::tuple{
      Field{"alpha", &InnerDirichlet::alpha, "concentration; small: a client holds few classes, large: all classes alike",
            kPositive},
      Field{"size-sigma", &InnerDirichlet::size_sigma, "standard deviation of the logarithm of client sizes; 0: equal sizes",
            Valid{.low = 0, .high = 100}},
  };

  Assignment assign(const PartitionInput& input) const;
};

}  // namespace fedstride
