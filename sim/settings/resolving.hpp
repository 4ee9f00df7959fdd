#pragma once

#include <string_view>

#include "core/setting.hpp"

// The steps of resolve_unchecked(), between which rules are checked (sim/settings/automatic.cpp).

namespace fedstride {

struct Configuration;

/// The value that leaves the choice of the local or server optimizer to the program; the default for both.
inline constexpr std::string_view kAutomatic = "auto";

/// The family's summary of "auto", or empty if the family does not have it.
constexpr std::string_view automatic_summary(std::string_view family) {
  if (family == "optimizer") return "pooled if no rule refuses it, else adadp";
  if (family == "server-optimizer") return "restore if the optimizer is auto and no rule refuses it, else average";
  return {};
}

/// Turns "clip RULE" into clip-rule, with clip's default as the first bound. Throws Error (usage) if clip-rule is also given.
Settings with_clip_rule(Settings settings);

/// Like resolve_unchecked(), but neither optimizer may be "auto"; an unset optimizer means its family's default.
Configuration resolve_named(const Settings& settings);

}  // namespace fedstride
