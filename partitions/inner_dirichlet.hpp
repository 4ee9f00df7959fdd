#pragma once

#include "partitions/partitions.hpp"
#include "partitions/simplex.hpp"

namespace fedstride {

struct InnerDirichletSettings {
  double alpha = 0.5;
  double size_sigma = 0;

  static constexpr auto kFields =
      fields(Field{"alpha", &InnerDirichletSettings::alpha, kAlphaHelp, kPositive},
             Field{"size-sigma", &InnerDirichletSettings::size_sigma, "standard deviation of log client sizes; 0: equal sizes",
                   Valid{.low = 0, .high = 100}});
};

/// Each client's class priors are drawn from the symmetric Dirichlet(alpha, ..., alpha), regardless of the overall class
/// distribution (Acar et al. 2021, FedDyn; Flower Datasets' inner Dirichlet partitioner). Rows are then dealt one at a time
/// without replacement: a client that is not yet full, chosen uniformly, takes a row of a class drawn from its priors. An
/// exhausted class is dropped for all clients at once, so deviations from the priors fall on each client's last rows, not on the
/// last clients. Client sizes differ by at most one or, if size-sigma > 0, are proportional to exp(size-sigma z), where z is
/// standard normal.
struct InnerDirichlet final : PartBase<PartitionPart, InnerDirichlet, InnerDirichletSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "inner-dirichlet";
  static constexpr std::string_view kSummary = "class priors of each client by Dirichlet(alpha), sizes equal or lognormal";

  Dealing dealing() const override { return Dealing::labels; }
  ClientRows assign(const PartitionInput& input) const override;
};

}  // namespace fedstride
