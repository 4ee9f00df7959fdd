#pragma once

#include <cstdint>

#include "core/part_choice.hpp"
#include "dp/bounds/adaptive.hpp"
#include "dp/bounds/auto_s.hpp"
#include "dp/bounds/fixed.hpp"
#include "dp/bounds/scaled.hpp"

namespace fedstride {

/// The list of bounds.
using Bounds = ChoiceList<BoundPart, FixedBound, AdaptiveBound, ScaledBound, AutoSBound>;

/// The name of a bound.
enum class ClipRule : std::uint8_t {};
constexpr auto choice_names(ClipRule) { return Bounds::names(); }

/// The settings that choose a level's bound.
struct BoundSettings : PartChoice<Bounds, ClipRule> {
  Bound bound() const { return part(); }
};

/// The clip rule that a ledger states for a bound: its own rule if it follows counts, otherwise the default.
ClipRule stated_rule(const Bound& bound);

}  // namespace fedstride
