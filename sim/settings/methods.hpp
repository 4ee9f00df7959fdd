#pragma once

#include "core/setting.hpp"

namespace fedstride {

/// The published algorithms that `method` names, and "default".
std::vector<KnownName> known_methods();

/// Replaces `method` by the settings of the algorithm's pieces, as published. Throws Error (usage) for an unknown name, or if one of
/// these settings is given with another value.
Settings with_method(Settings settings);

}  // namespace fedstride
