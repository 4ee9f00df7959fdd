#pragma once

#include <cstddef>
#include <cstdint>

namespace fedstride {

// Noise of prefix sums by a binary tree (DP-FTRL: Kairouz et al. 2021): each node over 2^h aligned steps has the sum of its steps with
// noise; a prefix sum is that of the nodes that tile it. A tree that restarts begins anew after so many steps.

/// The nodes over one step in a tree of so many steps, ceil(log2(steps + 1)): the squared sensitivity for each participation in a tree.
std::size_t tree_depth(std::uint64_t steps);

/// An upper bound on the sensitivity of one tree for participations at least `separation` apart: a node over w steps has at most
/// ceil(w / separation) of a record's contributions, in the same direction at worst, and `most` in all (0: as many as fit). Equal to
/// sqrt(tree_depth) for a single one.
double tree_sensitivity(std::uint64_t steps, std::uint64_t separation, std::uint64_t most = 0);

/// The variance of the error of the sum of the first t steps, for noise of variance 1 on every node: the number of ones in t; or with
/// the `better` estimator (Honaker 2015, from below), in which a node over 2^h steps has variance 1 / (2 (1 - 2^-(h+1))).
double tree_variance(std::uint64_t t, bool better);

}  // namespace fedstride
