#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "sweep/file/experiment.hpp"

namespace fedstride {

/// Cells refused for the same reason.
struct RefusedGroup {
  std::string reason;  ///< "local-objective is 'nova', 'fair', whose clients ..."
  std::vector<std::string> exclusions =
      {};  ///< in the form of [sweep] exclude; each matches only refused cells; empty: none found
  std::vector<Cell> cells = {};
};

/// Thrown for an experiment with invalid cells, before any data is read.
class RefusedCells : public Error {
 public:
  RefusedCells(const std::string& message, std::vector<RefusedGroup> by_reason)
      : Error(Kind::usage, message), groups(std::move(by_reason)) {}
  std::vector<RefusedGroup> groups;
};

/// Throws RefusedCells if any of the experiment's runs has invalid settings.
void check_cells(const Experiment& experiment);

/// Calls visit(cell) for every cell of the grid, the last axis varying fastest; the cell has only its point and settings. Throws
/// Error (usage) if a key is set twice.
void for_each_cell(const Experiment& experiment, const std::function<void(const Cell&)>& visit);

}  // namespace fedstride
