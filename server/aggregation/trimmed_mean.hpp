#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/setting.hpp"
#include "server/accumulator.hpp"

namespace fedstride {

/// The coordinate-wise trimmed mean (Yin, Chen, Ramchandran & Bartlett 2018, Definition 2): of the n changes of each parameter the
/// floor(trim n) smallest and as many of the largest are left out; the rest are averaged. Weights do not count.
struct TrimmedMean {
  double trim = 0.1;

  static constexpr std::string_view kName = "trimmed-mean";
  static constexpr std::string_view kSummary = "coordinate-wise trimmed mean (Yin et al. 2018)";
  static constexpr auto kFields = std::tuple{
      Field{"trim", &TrimmedMean::trim,
            "share of a round's clients whose smallest, and as many whose largest, changes of a parameter are left out",
            Valid{.low = 0, .high = 0.5, .high_included = false}}};

  static constexpr bool kByCoordinate = true;
  static std::size_t least_updates() { return 1; }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const;
};

}  // namespace fedstride
