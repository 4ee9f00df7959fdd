#pragma once

#include "partitions/class_mixture.hpp"
#include "partitions/partitions.hpp"
#include "partitions/simplex.hpp"

namespace fedstride {

struct DirichletBalancedSettings {
  double alpha = 0.5;

  static constexpr auto kFields = fields(Field{"alpha", &DirichletBalancedSettings::alpha, kAlphaHelp, kPositive});
};

/// Client sizes differ by at most one. Each client draws its class proportions from Dirichlet(alpha p), where p is the overall
/// class distribution, and then the class of each of its rows from those proportions (Hsu, Qi & Brown 2019). Exhausted classes
/// are dropped and the remaining proportions renormalized, so the first clients follow the distribution exactly and the last ones
/// take what remains.
struct DirichletBalanced final : PartBase<PartitionPart, DirichletBalanced, DirichletBalancedSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "dirichlet-balanced";
  static constexpr std::string_view kSummary = "each client's classes drawn from Dirichlet(alpha p), client sizes equal";

  Dealing dealing() const override { return Dealing::labels; }
  ClientRows assign(const PartitionInput& input) const override {
    check_input(input);
    check();
    std::vector<std::size_t> sizes(static_cast<std::size_t>(input.clients));
    for (std::size_t client = 0; client < sizes.size(); ++client)
      sizes[client] = even_piece(input.rows, client, sizes.size()).size();
    return dealt_by_mixture(input, alpha, sizes);
  }
};

}  // namespace fedstride
