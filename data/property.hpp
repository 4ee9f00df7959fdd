#pragma once

#include <string_view>
#include <vector>

#include "data/dataset.hpp"

namespace fedstride {

/// A property of each example, by row: "mean", the mean of its stored values (0 to 255 for images, over all pixels and channels:
/// its brightness), or a column of plain features, given by its number from 0. Throws Error (usage) for anything else.
std::vector<float> property_of_rows(const Dataset& data, std::string_view property);

}  // namespace fedstride
