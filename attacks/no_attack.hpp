#pragma once

#include <string_view>
#include <tuple>

namespace fedstride {

/// Every client is honest.
struct NoAttack {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kSummary = "every client is honest";
  static constexpr auto kFields = std::tuple{};
  static constexpr bool kPoisons = false;
  static constexpr bool kFalsifies = false;
  static constexpr bool kConspires = false;
  static constexpr bool kBackdoor = false;
};

}  // namespace fedstride
