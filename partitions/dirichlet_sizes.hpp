#pragma once

#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "partitions/partition.hpp"

namespace fedstride {

/// Quantity skew (Li, Diao, Chen & He 2022, NIID-Bench): the clients' shares of the rows are drawn from the symmetric
/// Dirichlet(beta, ..., beta), and who gets which rows is random. Sizes are rounded by the largest remainder; no draw is
/// repeated: a client without a row gets one of the largest client's.
struct DirichletSizes {
  double size_alpha = 0.5;  ///< the paper's beta

  static constexpr std::string_view kName = "dirichlet-sizes";
  static constexpr std::string_view kSummary = "rows at random, client sizes by Dirichlet(size-alpha)";
  static constexpr Dealing kDealing = Dealing::counts;
  static constexpr auto kFields = std::tuple{
      Field{"size-alpha", &DirichletSizes::size_alpha,
            "concentration of the clients' sizes (NIID-Bench's beta); small: few clients hold most rows, large: equal sizes",
            kPositive},
  };

  ClientRows assign(const PartitionInput& input) const;
};

/// Both skews at once: sizes as DirichletSizes draws them, and each client's mix of classes as DirichletBalanced does: client
/// proportions from Dirichlet(alpha p), a class that has run out left out.
struct DirichletBoth {
  double alpha = 0.5;
  double size_alpha = 0.5;

  static constexpr std::string_view kName = "dirichlet-both";
  static constexpr std::string_view kSummary =
      "client sizes by Dirichlet(size-alpha), each over the classes by Dirichlet(alpha p)";
  static constexpr Dealing kDealing = Dealing::labels;
  static constexpr auto kFields = std::tuple{
      Field{"alpha", &DirichletBoth::alpha, "concentration; small: a client holds few classes, large: the overall mix",
            kPositive},
      Field{"size-alpha", &DirichletBoth::size_alpha,
            "concentration of the clients' sizes; small: few clients hold most rows, large: equal sizes", kPositive},
  };

  Assignment assign(const PartitionInput& input) const;
};

}  // namespace fedstride
