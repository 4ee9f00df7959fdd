#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/setting.hpp"
#include "dp/draws/draw.hpp"

namespace fedstride {

/// Who adds the noise that protects clients.
enum class ClientNoiseBy { central, discrete, local, distributed };

/// Everything that rules, rounds, accountants, ledger and statements need to know about who adds the noise.
struct NoisePlace {
  std::string_view name;
  std::string_view summary;
  /// True if the coordinator sees the updates, adds the noise to their sum, and is trusted with both. Only then is a cohort
  /// hidden from adversaries, so sampling amplifies, and only then can the coordinator be trusted with noise on other values and
  /// with measurements.
  bool is_trusted = false;
  /// False if each update carries all of the noise: the update is then a release by itself, which anyone may read.
  bool is_central = true;
  /// True if clients add shares of a law on integers (dp/laws/), which are in the sum before the coordinator sees it. Members of
  /// a cohort know that they are members, and adversaries may be among them.
  bool has_shares = false;
  /// True if the noise is drawn on the integers that are summed, which have no other grid.
  bool is_on_integers = false;
  /// True if noise can be correlated between rounds.
  bool correlates = false;
  /// The only neighbor relation with a bound, if there is just one.
  std::optional<Neighbours> neighbours = {};
  /// Why an absent client moves the sum by more than its update, so that add-remove has no bound; empty if it does not.
  std::string_view mover = {};
  /// The assumption that a statement makes about who adds the noise; a statement on shares adds more.
  std::string_view assumption = {};
};

namespace detail {
inline constexpr std::string_view kTrusted = "the coordinator adds the noise; it sees the updates and is trusted with them";
}

/// The places, in the order of ClientNoiseBy.
inline constexpr NoisePlace kNoisePlaces[] = {
    {.name = "central", .summary = "the coordinator", .is_trusted = true, .correlates = true, .assumption = detail::kTrusted},
    // Discrete Gaussian noise costs no more than Gaussian noise (Canonne, Kamath & Steinke 2020).
    {.name = "discrete",
     .summary = "the coordinator, exactly on integers",
     .is_trusted = true,
     .is_on_integers = true,
     .assumption = detail::kTrusted},
    // The update's owner is known, so a neighbor can only replace it.
    {.name = "local",
     .summary = "each client, in full, to its own update",
     .is_central = false,
     .neighbours = Neighbours::replace_one,
     .assumption = "each client adds all of the noise itself"},
    {.name = "distributed",
     .summary = "each client, in shares, with secure aggregation",
     .has_shares = true,
     .is_on_integers = true,
     .mover = "with client-noise 'distributed', a client that is absent adds no noise either"},
};
inline std::vector<KnownName> known_places() {
  std::vector<KnownName> known;
  for (const NoisePlace& place : kNoisePlaces) known.push_back({std::string(place.name), std::string(place.summary)});
  return known;
}
constexpr const NoisePlace& place_of(ClientNoiseBy by) { return kNoisePlaces[static_cast<std::size_t>(by)]; }
constexpr auto choice_names(ClientNoiseBy) {
  return names(kNoisePlaces[0].name, kNoisePlaces[1].name, kNoisePlaces[2].name, kNoisePlaces[3].name);
}

}  // namespace fedstride
