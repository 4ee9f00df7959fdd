#pragma once

#include "core/part_list.hpp"
#include "dp/places/central.hpp"
#include "dp/places/discrete.hpp"
#include "dp/places/distributed.hpp"
#include "dp/places/local.hpp"

namespace fedstride {

/// The list of places; the first is the default.
using PlaceList = std::tuple<CentralNoise, DiscreteNoise, LocalNoise, DistributedShares>;

/// A place as a value: its position in the list.
enum class ClientNoiseBy {};
template <class P>
inline constexpr ClientNoiseBy kClientNoiseBy{kPlaceIn<PlaceList, P>};
constexpr auto choice_names(ClientNoiseBy) { return names_in<PlaceList>(); }

inline const NoisePlace& place_of(ClientNoiseBy by) { return part_in<NoisePlace, PlaceList>(by); }

}  // namespace fedstride
