#pragma once

#include "core/part_list.hpp"
#include "dp/draws/balls_in_bins.hpp"
#include "dp/draws/full.hpp"
#include "dp/draws/poisson.hpp"
#include "dp/draws/shuffle.hpp"
#include "dp/draws/without_replacement.hpp"

namespace fedstride {

/// The list of draws.
using DrawList = std::tuple<PoissonDraw, FullDraw, WithoutReplacementDraw, ShuffleDraw, BallsInBins>;

/// A draw as a value: its position in the list. Draws that accountants treat individually have names here.
enum class Sampling {
  poisson = kPlaceIn<DrawList, PoissonDraw>,
  full = kPlaceIn<DrawList, FullDraw>,
  without_replacement = kPlaceIn<DrawList, WithoutReplacementDraw>,
  shuffle = kPlaceIn<DrawList, ShuffleDraw>,
};
template <class D>
inline constexpr Sampling kSampling{kPlaceIn<DrawList, D>};

constexpr auto choice_names(Sampling) { return names_in<DrawList>(); }

inline const Draw& draw_of(Sampling sampling) { return part_in<Draw, DrawList>(sampling); }
/// True if a record is in at most one release per pass over the data.
inline bool has_passes(Sampling sampling) { return draw_of(sampling).has_passes(); }

}  // namespace fedstride
