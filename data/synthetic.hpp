#pragma once

#include <cstdint>
#include <filesystem>

#include "data/dataset.hpp"

namespace fedstride {

/// The parts of the built-in set; the number is the `client` of its draws.
enum class SyntheticPart : std::uint32_t { train = 0, test = 1 };

inline constexpr std::size_t kSyntheticTrainRows = 10'000;
inline constexpr std::size_t kSyntheticTestRows = 2'000;

/// The built-in set: 32x32 RGB pictures in ten classes that come as five look-alike pairs (2k and 2k+1). Both classes
/// of a pair have the same colours, sizes, places and contrasts and differ in the figure's form alone; the figure is as
/// often brighter as darker than the ground, so that no linear model can separate a pair's classes. Integer arithmetic
/// only, row r drawn at (synthetic_data, client = part, row = r): the same bytes everywhere, and a shorter set is a
/// prefix of a longer one. Classes are balanced: row r has label r mod 10.
Dataset make_synthetic(SyntheticPart part, std::size_t rows);

DataPair load_synthetic(const std::filesystem::path& folder);

}  // namespace fedstride
