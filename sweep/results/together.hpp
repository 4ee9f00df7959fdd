#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/json.hpp"

namespace fedstride {

struct Cell;

/// What the cells of a sweep cost together, at one level of the rows that they share.
struct CostTogether {
  std::string rows;  ///< the data set's name, or the path of the rows
  std::string level;
  std::size_t cells = 0;
  double epsilon = 0;  ///< infinite if no accountant has a bound for all together
  double delta = 0;    ///< the smallest of the cells' deltas
};

/// Computed from the ledgers of these cells' runs in the sweep's folder; empty without privacy. Throws Error (failure) if a ledger
/// is broken.
std::vector<CostTogether> cost_together(const std::filesystem::path& sweep, std::span<const Cell> cells);

/// "3 cells on 'heart' cost epsilon 4.1 at delta 1e-05 together (example level)".
std::string cost_text(const CostTogether& cost);
Json cost_json(const CostTogether& cost);

}  // namespace fedstride
