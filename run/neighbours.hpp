#pragma once

#include "run/configuration.hpp"

namespace fedstride {

// The neighbours that a guarantee can be about. A row or a client that is there must move no other: where it does (rows are dealt out
// by their number, lots or cohorts have a fixed size), the sum moves by more than one clip bound, and only zero-out, whose sizes
// are public, or replace-one hold. docs/privacy.md has the table, with the sensitivity of each cell.

/// The neighbours of example level: those named, or for `auto` the strongest relation with the sensitivity of one clip bound:
/// add-remove where every row goes its own way, else zero-out; for lots drawn without replacement replace-one, which alone has an
/// accountant. Throws Error (usage) for neighbours that the partition, the splits or the lots do not allow. Requires example level.
Neighbours example_neighbours(const Configuration& configuration);

/// Those of client level: for `auto` add-remove where each client takes part whoever else does and nobody is drawn to attack, else
/// zero-out; where each client adds the noise itself replace-one, since an observer can compare its message with any other. Throws
/// Error (usage). Requires client level.
Neighbours client_neighbours(const Configuration& configuration);

}  // namespace fedstride
