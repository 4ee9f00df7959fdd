#pragma once

#include <string>

#include "sim/settings/configuration.hpp"

namespace fedstride {

// Determines the neighbor relations for which a guarantee can hold. For add-remove, adding a row or client must not move any
// other. Otherwise (if all rows are dealt out together, or lots or cohorts have a fixed size), the sum changes by more than one
// clip bound, and only zero-out (with public sizes) or replace-one holds. docs/privacy.md lists the sensitivities.

/// Returns why adding a row moves others; empty if it does not. Requires example level.
std::string moves_others(const Configuration& configuration);
/// Returns why adding a client moves others; empty if it does not.
std::string moves_other_clients(const Configuration& configuration);
/// True if a row's contents decide which client gets it, so that replacing a row moves others.
bool is_dealt_by_contents(const Configuration& configuration);

/// The neighbor relation at example level: as set; for `auto`, the strongest whose sensitivity is one clip bound (add-remove if
/// rows are placed independently of each other, otherwise zero-out), or replace-one for draws with no bound under zero-out. For
/// users, always zero-out. Requires example level; the rules refuse relations that do not hold (sim/settings/rules.cpp).
Neighbours example_neighbours(const Configuration& configuration);

/// The neighbor relation at client level: replace-one if each client adds the noise itself, since an observer can compare its
/// message with any other. Otherwise as set; for `auto`, add-remove if clients take part independently of each other and no
/// attackers are drawn, else zero-out. Requires client level.
Neighbours client_neighbours(const Configuration& configuration);

/// The sampling by which cohorts amplify privacy if clients are protected and drawn independently, and the draw stays secret;
/// otherwise full.
Sampling cohort_sampling(const Configuration& configuration);

}  // namespace fedstride
