#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fedstride {

// Noise of prefix sums by a binary tree (DP-FTRL: Kairouz et al. 2021): each node over 2^h aligned steps has the sum of its steps with
// noise; a prefix sum is that of the nodes that tile it. A tree that restarts begins anew after so many steps.

/// The nodes over one step in a tree of so many steps, ceil(log2(steps + 1)): the squared sensitivity for each participation in a tree.
std::size_t tree_depth(std::uint64_t steps);

/// By n from 0: the largest sum, over the nodes of one tree, of squared numbers of participations, over all patterns of n participations
/// at least `separation` apart: the squared sensitivity, since contributions may have the same direction. As many n as fit. Exact, by
/// dynamic programming over halves of nodes, whose patterns meet only in the distance of the last and first participation: time
/// separation * steps^2. Throws Error (usage).
std::vector<double> tree_squares(std::uint64_t steps, std::uint64_t separation);

/// The square root of the largest of these with `most` participations at most (0: as many as fit). Where separation * steps^2 is above
/// 10^8, an upper bound: a node over w steps has ceil(w / separation) at most.
double tree_sensitivity(std::uint64_t steps, std::uint64_t separation, std::uint64_t most = 0);

/// The largest squared sensitivity of a tree for each of its participations, of which there are `most` at most: what bounds a number of
/// participations in any trees.
double tree_square_a_turn(std::uint64_t steps, std::uint64_t separation, std::uint64_t most = 0);

/// The variance of the error of the sum of the first t steps, for noise of variance 1 on every node: the number of ones in t; or with
/// the `better` estimator (Honaker 2015, from below), in which a node over 2^h steps has variance 1 / (2 (1 - 2^-(h+1))).
double tree_variance(std::uint64_t t, bool better);

}  // namespace fedstride
