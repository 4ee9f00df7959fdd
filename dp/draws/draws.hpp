#pragma once

#include <cstddef>
#include <tuple>

#include "dp/draws/balls_in_bins.hpp"
#include "dp/draws/full.hpp"
#include "dp/draws/poisson.hpp"
#include "dp/draws/shuffle.hpp"
#include "dp/draws/without_replacement.hpp"

namespace fedstride {

/// The list of draws.
using DrawList = std::tuple<PoissonDraw, FullDraw, WithoutReplacementDraw, ShuffleDraw, BallsInBins>;

template <class D, class... All>
constexpr int place_in(const std::tuple<All...>*) {
  int place = 0;
  static_cast<void>(((std::is_same_v<D, All> || (++place, false)) || ...));
  return place;
}
template <class D>
inline constexpr int kPlaceOfDraw = place_in<D>(static_cast<DrawList*>(nullptr));

/// A draw as a value: its place in the list. Those that accountants know have names here, too.
enum class Sampling {
  poisson = kPlaceOfDraw<PoissonDraw>,
  full = kPlaceOfDraw<FullDraw>,
  without_replacement = kPlaceOfDraw<WithoutReplacementDraw>,
  shuffle = kPlaceOfDraw<ShuffleDraw>,
};
template <class D>
inline constexpr Sampling kSampling{kPlaceOfDraw<D>};

constexpr auto choice_names(Sampling) {
  return []<class... D>(const std::tuple<D...>*) { return names(D::kName...); }(static_cast<DrawList*>(nullptr));
}

const Draw& draw_of(Sampling sampling);
/// True if a record is in at most one release of a pass over the data.
inline bool has_passes(Sampling sampling) { return draw_of(sampling).has_passes(); }

}  // namespace fedstride
