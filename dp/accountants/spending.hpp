#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/task.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// Adds releases to a spending, to the count of an equal entry if there is one. The cost of releases fixed in advance does not
/// depend on their order, so the order may be lost. For draws with passes, if `passes` is 0, `count` is used.
void merge(Spending& spending, const Releases& more);
void merge(Spending& spending, const Spending& more);

/// Merges releases that differ only in count; releases of draws with passes become the full releases that bound them, one per
/// pass (`count` of them if passes are not given). The result is sorted.
Spending merged(std::span<const Releases> spending);

/// The releases of `runs` to which one record is exposed, each drawn as in `like` (whose multiplier and count are ignored). For
/// draws with passes, a record is in at most one release per pass, but which one is unknown. It is charged as if it had been in
/// the `passes` releases with the smallest multipliers. The mechanism is a mixture over all assignments, whose loss is at most
/// that of the worst component (joint convexity of the hockey-stick divergence).
Spending exposure(std::span<const ReleaseRun> runs, const Releases& like);

/// Like exposure(), but with the papers' approximation, which treats shuffled lots as Poisson-sampled and is not a bound for
/// them.
Spending as_in_papers(std::span<const ReleaseRun> runs, const Releases& like);

/// Reduces a spending to at most `most` (>= 100) kinds that together cost no less: noise is rounded down and rates are rounded up
/// to a grid no coarser than needed. Returns the spending unchanged if it has at most that many kinds.
Spending coarser(const Spending& spending, std::size_t most);

/// True if `more` certainly costs at least as much as `less`.
bool costs_no_less(const Spending& more, const Spending& less);

/// At most `most` spendings such that each of `all` costs no more than one of them: without those that cost no more than another
/// and, if they are still too many, with groups of similar rates replaced by what bounds each of a group.
std::vector<Spending> bounding(std::vector<Spending> all, std::size_t most);

bool is_correlated(std::span<const Releases> spending);
/// Replaces each correlated release with independent releases of the same cost: one with noise multiplier / sensitivity or, for
/// amplified noise, one per round of a record, with noise multiplier / norm_in_groups().
Spending without_correlation(std::span<const Releases> spending);

/// Returns `release` limited to the first `rounds` rounds, of which at most `most` contain any one record (0: as many as the
/// separation allows).
Releases of_rounds(Releases release, std::uint64_t rounds, std::uint64_t most = 0);

}  // namespace fedstride
