#pragma once

#include <string_view>

#include "core/setting.hpp"

// The pieces of resolve_unchecked(); rules are checked between its steps (sim/settings/automatic.cpp).

namespace fedstride {

struct Configuration;

/// The word that leaves the choice of the local or the server optimizer to the program, and the default of both.
inline constexpr std::string_view kAutomatic = "auto";

/// The family's summary of "auto", or empty if the family has no such word.
constexpr std::string_view automatic_summary(std::string_view family) {
  if (family == "optimizer") return "pooled where no rule refuses it, else adadp";
  if (family == "server-optimizer") return "restore if the optimizer is auto and no rule refuses it, else average";
  return {};
}

/// "clip RULE" is short for the rule, with clip's default as the first bound. Throws Error (usage) if the rule is also given.
Settings with_clip_rule(Settings settings);

/// The configuration of settings that name both optimizers or mean the families' defaults; otherwise like resolve_unchecked().
Configuration resolve_named(const Settings& settings);

}  // namespace fedstride
