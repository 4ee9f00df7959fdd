#pragma once

#include "client/attacks/attack.hpp"

namespace fedstride {

/// Every client is honest.
struct NoAttack final : PartBase<AttackPart, NoAttack> {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kSummary = "every client is honest";
};

}  // namespace fedstride
