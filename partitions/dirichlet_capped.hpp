#pragma once

#include "partitions/partitions.hpp"
#include "partitions/simplex.hpp"

namespace fedstride {

struct DirichletCappedSettings {
  double alpha = 0.5;
  int least_rows = 10;

  static constexpr auto kFields =
      fields(Field{"alpha", &DirichletCappedSettings::alpha, kAlphaHelp, kPositive},
             Field{"least-rows", &DirichletCappedSettings::least_rows,
                   "redraw until every client has at least this many rows; 0: never redraw", Valid{.low = 0, .high = 1e9}});
};

/// Label skew as in the NIID-Bench code (Li, Diao, Chen & He 2022, "noniid-labeldir"). Class by class, rows are split across the
/// K clients in proportions drawn from the symmetric Dirichlet(alpha, ..., alpha), but clients that already hold at least N / K
/// of the N rows get no share. The first k clients together get their cumulative share of the class, rounded down; the last
/// client with a share gets the rest. The whole draw is repeated until every client has at least `least_rows` rows. Throws Error
/// (usage) if there are too few rows, or if none of many draws succeeds.
struct DirichletCapped final : PartBase<PartitionPart, DirichletCapped, DirichletCappedSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "dirichlet-capped";
  static constexpr std::string_view kSummary =
      "each class split by Dirichlet(alpha) across clients below an equal share (NIID-Bench's code)";

  Dealing dealing() const override { return Dealing::labels; }
  ClientRows assign(const PartitionInput& input) const override;
};

}  // namespace fedstride
