#pragma once

#include <cstddef>
#include <span>

#include "core/task.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// Adds releases to a spending and counts equal releases together. Accountants compose releases fixed in advance in any order, so
/// the order may be lost. For draws with passes, a `passes` of 0 means `count`.
void merge(Spending& spending, const Releases& more);
void merge(Spending& spending, const Spending& more);

/// Merges releases that differ only in count; releases of draws with passes become the full releases that bound them, one per
/// pass (`count` of them if passes are not given). The result is sorted.
Spending merged(std::span<const Releases> spending);

/// The releases of `runs` to which one record is exposed, each drawn as in `like` (whose multiplier and count are ignored). For
/// draws with passes, a record is in at most one release per pass, but which one is unknown: the `passes` releases with the
/// smallest multipliers are charged, as if the record had been in them. The mechanism is a mixture over the assignments, whose
/// loss is at most its worst component's (joint convexity of the hockey-stick divergence).
Spending exposure(std::span<const ReleaseRun> runs, const Releases& like);

/// The papers' approximation, which treats shuffled lots as if Poisson-sampled; not a bound for shuffled lots.
Spending as_in_papers(std::span<const ReleaseRun> runs, const Releases& like);

/// Reduces a spending to at most `most` (at least 100) kinds that together cost no less: noise is lowered and rates are raised to
/// a grid no coarser than needed. Returns the spending itself if it has no more kinds than that.
Spending coarser(const Spending& spending, std::size_t most);

bool is_correlated(std::span<const Releases> spending);
/// Replaces each correlated release with independent releases of the same cost: one with noise multiplier / sensitivity or, for
/// amplified noise, one per round of a record's group with noise multiplier / the norm in that group.
Spending without_correlation(std::span<const Releases> spending);

/// `release` limited to the first `rounds` rounds, at most `most` of which contain any one record; 0: as many as the separation
/// allows.
Releases of_rounds(Releases release, std::uint64_t rounds, std::uint64_t most = 0);

}  // namespace fedstride
