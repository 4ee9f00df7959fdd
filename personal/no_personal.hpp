#pragma once

#include "personal/personal.hpp"

namespace fedstride {

/// Clients have the federation's model and no other.
struct NoPersonal : PersonalDefaults {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kSummary = "clients have no models of their own";
  static constexpr auto kFields = std::tuple{};
};

}  // namespace fedstride
