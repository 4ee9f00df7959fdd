#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace fedstride {

/// A table of rows per class and client as UTF-8 text, at most 80 columns wide: one line per client and one cell per class (or
/// per group of classes if there are too many). The shade is the share of the fullest cell; counts are shown if they fit. With
/// more than 40 clients it shows the first 20, then quantiles of sizes and of classes per client over all clients.
/// `class_names` may be empty; names too long for a column are listed above.
std::string heat_map(const std::vector<std::vector<std::size_t>>& rows_per_class, std::span<const std::string> class_names);

}  // namespace fedstride
