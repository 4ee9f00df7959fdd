#pragma once

#include "client/personal/personal.hpp"

namespace fedstride {

/// Clients use only the federation's model.
struct NoPersonal final : PartBase<PersonalPart, NoPersonal> {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kSummary = "clients have no personal models";
};

}  // namespace fedstride
