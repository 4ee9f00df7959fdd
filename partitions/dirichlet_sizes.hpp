#pragma once

#include "partitions/partitions.hpp"
#include "partitions/simplex.hpp"

namespace fedstride {

struct DirichletSizesSettings {
  double size_alpha = 0.5;  ///< the paper's beta

  static constexpr auto kFields = fields(Field{"size-alpha", &DirichletSizesSettings::size_alpha, kSizeAlphaHelp, kPositive});
};

/// Quantity skew (Li, Diao, Chen & He 2022, NIID-Bench): client shares are drawn from the symmetric Dirichlet(beta, ..., beta),
/// and rows are assigned at random. Sizes are rounded by the largest remainder method. No draw is repeated: a client left without
/// rows takes one from the largest client.
struct DirichletSizes final : PartBase<PartitionPart, DirichletSizes, DirichletSizesSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "dirichlet-sizes";
  static constexpr std::string_view kSummary = "random rows, client sizes by Dirichlet(size-alpha)";

  Dealing dealing() const override { return Dealing::counts; }
  ClientRows assign(const PartitionInput& input) const override;
};

struct DirichletBothSettings {
  double alpha = 0.5;
  double size_alpha = 0.5;

  static constexpr auto kFields = fields(Field{"alpha", &DirichletBothSettings::alpha, kAlphaHelp, kPositive},
                                         Field{"size-alpha", &DirichletBothSettings::size_alpha, kSizeAlphaHelp, kPositive});
};

/// Both skews at once: sizes as in DirichletSizes, and class mixes as in DirichletBalanced, with proportions from
/// Dirichlet(alpha p) and exhausted classes dropped.
struct DirichletBoth final : PartBase<PartitionPart, DirichletBoth, DirichletBothSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "dirichlet-both";
  static constexpr std::string_view kSummary = "client sizes by Dirichlet(size-alpha), classes of each by Dirichlet(alpha p)";

  Dealing dealing() const override { return Dealing::labels; }
  ClientRows assign(const PartitionInput& input) const override;
};

}  // namespace fedstride
