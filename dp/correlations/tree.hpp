#pragma once

#include <cstddef>
#include <cstdint>

#include "dp/correlations/correlation.hpp"

namespace fedstride {

// Noise for prefix sums from a binary tree (DP-FTRL: Kairouz et al. 2021): each node over 2^h aligned steps holds the noisy sum
// of its steps; a prefix sum adds the nodes that tile it. A restarting tree begins again after a fixed number of steps.

/// The number of nodes above one step in a tree of this many steps, ceil(log2(steps + 1)): the squared sensitivity of one
/// participation in a tree.
std::size_t tree_depth(std::uint64_t steps);

/// An upper bound on the sensitivity of the first `steps` steps, with a new tree after every `restart` steps (0: never). A record
/// has at most `most` participations (0: as many as fit), at least `separation` apart, in the worst case all in the same
/// direction. The square is the worst pattern's sum over nodes of (participations in the node)^2, found by dynamic programming
/// over the nodes: exact in small cases (see the tests), coarser if the separation is above 40. If `most` limits the
/// participations, the square is the Lagrange dual or, if lower, a bound by level.
double tree_sensitivity(std::uint64_t steps, std::uint64_t separation, std::uint64_t most = 0, std::uint64_t restart = 0);

/// The variance of the error of the sum of the first t steps, for noise of variance 1 on every node. It is the number of ones in
/// t's binary digits or, with the `better` estimator (Honaker 2015, from below), the sum of variances over the nodes that tile
/// the steps: 1 / (2 (1 - 2^-(h+1))) for a node over 2^h steps.
double tree_variance(std::uint64_t t, bool better);

struct TreeNoiseSettings {
  int restart = 0;
  static constexpr auto kFields = fields(Field{"tree-restart", &TreeNoiseSettings::restart,
                                               "rounds after which a new tree begins; 0: never", Valid{.low = 0, .high = 1e6}});
};

/// Round t adds the increment of the estimated prefix sum of the noise. A node over 2^(h+1) rounds combines its own draw, which
/// is draw h + 1 of the round that completes the node, with the sum of its children, weighted by their variances (Honaker 2015,
/// from below). For each 1 in t's binary digits, the node of that digit's height is kept.
struct TreeNoise final : PartBase<MechanismPart, TreeNoise, TreeNoiseSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "tree";
  static constexpr std::string_view kSummary = "a binary tree over the rounds (DP-FTRL, Kairouz et al.)";

  void plan(Correlation& planned) const override { planned.restart = static_cast<std::uint64_t>(restart); }
  bool restarts() const override { return true; }
  std::string objection(const Correlation& correlation) const override;
  std::vector<std::pair<std::string_view, std::uint64_t>> stated(const Correlation& correlation) const override;
  double sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) const override;
  std::size_t kept_vectors(const Correlation& correlation) const override;
  void encode(const Correlation& correlation, const NoiseRow& row,
              function_ref<void(std::size_t, std::span<const double>)> put) const override;
  void correlate(const Correlation& correlation, const NoiseRow& row,
                 function_ref<std::span<const double>(std::size_t)> draw) const override;
};

}  // namespace fedstride
