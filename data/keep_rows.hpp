#pragma once

#include <span>

#include "data/dataset.hpp"

namespace fedstride {

/// Lets go of every example but `rows`. Rows keep their numbers, and with them what is drawn for them; the others may not
/// be asked for any more, and size() counts those that are left.
void keep_rows(Dataset& data, std::span<const Row> rows);

}  // namespace fedstride
