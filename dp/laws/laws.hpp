#pragma once

#include "core/part_list.hpp"
#include "dp/laws/discrete_gaussian.hpp"
#include "dp/laws/gaussian.hpp"
#include "dp/laws/skellam.hpp"

namespace fedstride {

/// The list of laws.
using LawList = std::tuple<GaussianLaw, SkellamLaw, DiscreteGaussianLaw>;

/// A law as a value: its position in the list. The law that accountants treat individually has a name here.
enum class NoiseLaw { gaussian = kPlaceIn<LawList, GaussianLaw> };
template <class L>
inline constexpr NoiseLaw kLaw{kPlaceIn<LawList, L>};
constexpr auto choice_names(NoiseLaw) { return names_in<LawList>(); }

inline const Law& law_of(NoiseLaw law) { return part_in<Law, LawList>(law); }

}  // namespace fedstride
