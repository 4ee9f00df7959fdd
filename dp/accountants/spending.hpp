#pragma once

#include <span>

#include "core/task.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// Adds releases to what was spent before; those alike are counted together. Accountants compose what is fixed
/// beforehand in any order, so the order may be lost. Under shuffle, `passes` 0 is taken as `count`.
void merge(Spending& spending, const Releases& more);
void merge(Spending& spending, const Spending& more);

/// What one record is exposed to by `runs`, each drawn as `like` says (its multiplier and count are not read).
/// Under shuffle a record is in at most one release of a pass, nobody knows which: the `passes` releases with the
/// smallest multipliers are charged, as if it had been in those. What is left is a mixture over the assignments, and
/// the loss of a mixture is at most that of its worst component (joint convexity of the hockey-stick divergence).
Spending exposure(std::span<const ReleaseRun> runs, const Releases& like);

/// The papers' approximation: releases of shuffled lots as if they were Poisson-sampled. No bound for what was done.
Spending as_in_papers(std::span<const ReleaseRun> runs, const Releases& like);

}  // namespace fedstride
