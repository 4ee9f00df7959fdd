#pragma once

#include <cstddef>
#include <span>

#include "core/task.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// Adds releases to a spending; equal ones are counted together. Accountants compose releases fixed in advance in any order, so
/// the order may be lost. For draws with passes, `passes` 0 means `count`.
void merge(Spending& spending, const Releases& more);
void merge(Spending& spending, const Spending& more);

/// Merges releases that differ only in count; releases of draws with passes become the full releases that bound them, one per
/// pass (`count` of them if passes are not given). Sorted.
Spending merged(std::span<const Releases> spending);

/// The releases of `runs` that one record is exposed to, each drawn as in `like` (its multiplier and count are ignored).
/// For draws with passes, a record is in at most one, unknown release of a pass: the `passes` releases with the smallest
/// multipliers are
/// charged, as if it had been in those. The mechanism is a mixture over the assignments, whose loss is at most its worst
/// component's (joint convexity of the hockey-stick divergence).
Spending exposure(std::span<const ReleaseRun> runs, const Releases& like);

/// The papers' approximation: releases of shuffled lots as if they were Poisson-sampled. Not a bound for shuffled lots.
Spending as_in_papers(std::span<const ReleaseRun> runs, const Releases& like);

/// At most `most` kinds (at least 100) that together cost no less: noise is lowered and rates are raised to a grid, no coarser
/// than needed. Returns the spending itself if it has no more kinds than that.
Spending coarser(const Spending& spending, std::size_t most);

bool is_correlated(std::span<const Releases> spending);
/// Replaces each correlated release by independent ones of the same cost: a single one at noise multiplier / sensitivity or, for
/// amplified noise, one for each round of a record's group at noise multiplier / its norm there.
Spending without_correlation(std::span<const Releases> spending);

/// `release` limited to the first `rounds` rounds, at most `most` of which have one record; 0: as many as the separation allows.
Releases of_rounds(Releases release, std::uint64_t rounds, std::uint64_t most = 0);

}  // namespace fedstride
