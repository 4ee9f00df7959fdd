#pragma once

#include "core/part_choice.hpp"
#include "dp/correlations/banded.hpp"
#include "dp/correlations/blt.hpp"
#include "dp/correlations/independent.hpp"
#include "dp/correlations/tree.hpp"

namespace fedstride {

/// The list of mechanisms.
using Mechanisms = ChoiceList<MechanismPart, IndependentNoise, TreeNoise, BandedNoise, BufferedNoise>;

enum class NoiseMechanism : int {};
constexpr auto choice_names(NoiseMechanism) { return Mechanisms::names(); }

/// The settings of a level that has a choice of mechanisms.
using MechanismSettings = PartChoice<Mechanisms, NoiseMechanism>;

}  // namespace fedstride
