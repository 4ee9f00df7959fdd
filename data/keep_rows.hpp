#pragma once

#include <span>

#include "data/dataset.hpp"

namespace fedstride {

/// Drops every example but `rows`. Rows keep their numbers, and so their draws; the other rows must not be used any more,
/// and size() counts those that remain.
void keep_rows(Dataset& data, std::span<const Row> rows);

}  // namespace fedstride
