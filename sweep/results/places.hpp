#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sweep/results/summary.hpp"

namespace fedstride {

/// Configurations from best to worst, as indices, by the mean over finished seeds of the tuning's metric after the last
/// round. One that lacks the number for some seed (a loss that is not finite) comes after those that do not; without any
/// number it is left out. Ties: the order given.
std::vector<std::size_t> ordered(const Tuning& tuning, const std::vector<Seeds>& configurations);

/// The rank of each configuration among those that differ from it in tuned keys alone; 1: best.
std::unordered_map<std::string, int> places(const Experiment& experiment, const std::vector<CellResult>& cells);

}  // namespace fedstride
