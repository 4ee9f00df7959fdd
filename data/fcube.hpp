#pragma once

#include <filesystem>

#include "data/dataset.hpp"

namespace fedstride {

inline constexpr std::size_t kFcubeTrainRows = 4'000;
inline constexpr std::size_t kFcubeTestRows = 1'000;

/// FCUBE (Li, Diao, Chen & He 2022, NIID-Bench): points of the cube (-1, 1)^3 with three features in two classes, 0
/// where x1 > 0 and 1 where x1 < 0. Each of four clients holds points of two octants symmetric about the origin, uniform in them and
/// as many in one as in the other: both classes, and other features than anybody else. Where x1 > 0, client k
/// has x2 > 0 for k = 0, 1 and x3 > 0 for k = 0, 2. Row r is client r mod 4's and of class (r / 4) mod 2. Integer arithmetic and powers of
/// two only: the same bytes everywhere. Inputs are not normalised.
DataPair load_fcube(const std::filesystem::path& folder);

}  // namespace fedstride
