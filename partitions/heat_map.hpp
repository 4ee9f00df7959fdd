#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace fedstride {

/// A table of rows per class per client as text, 80 columns at most, UTF-8: one line a client, one cell a class
/// (several classes a cell if there are too many), a shade for its share of the fullest cell, the count if there is room.
/// With more than 40 clients it shows the first 20, then quantiles of sizes and of classes per client over all of them.
/// `class_names` may be empty.
std::string heat_map(const std::vector<std::vector<std::size_t>>& rows_per_class, std::span<const std::string> class_names);

}  // namespace fedstride
