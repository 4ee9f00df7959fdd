#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

/// The coordinate-wise median (Yin, Chen, Ramchandran & Bartlett 2018, Definition 1): each parameter's change is the median of the
/// clients' changes of it, for an even number of clients the mean of the two middle ones. Weights do not count.
struct Median {
  static constexpr std::string_view kName = "median";
  static constexpr std::string_view kSummary = "coordinate-wise median (Yin et al. 2018)";
  static constexpr auto kFields = std::tuple{};

  static constexpr bool kByCoordinate = true;
  static std::size_t least_updates() { return 1; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const;
};

}  // namespace fedstride
