#pragma once

#include <functional>

#include "sweep/file/experiment.hpp"

namespace fedstride {

/// Calls visit(point and settings of a cell) for every cell of the grid, the last axis fastest. Throws Error (usage)
/// if a key is set twice.
void for_each_cell(const Experiment& experiment, const std::function<void(const Cell&)>& visit);

}  // namespace fedstride
