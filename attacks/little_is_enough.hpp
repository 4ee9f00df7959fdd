#pragma once

#include "attacks/attack.hpp"

namespace fedstride {

/// A little is enough (Baruch, Baruch & Goldberg 2019, Algorithm 3): all attackers send, coordinate by coordinate, the mean of the
/// honest updates less z of their standard deviations, z = Phi^-1((n - f - s) / (n - f)), s = floor(n/2 + 1) - f: the most that
/// still leaves a majority further out.
struct LittleIsEnough : AttackDefaults {
  double z = 0;

  static constexpr std::string_view kName = "alie";
  static constexpr std::string_view kSummary = "the honest mean less z standard deviations (ALIE; Baruch et al. 2019)";
  static constexpr auto kFields = std::tuple_cat(
      kAttackersField, std::tuple{Field{"alie-z", &LittleIsEnough::z,
                                        "standard deviations from the honest mean; 0: the paper's, by the numbers of "
                                        "clients and attackers in the round",
                                        Valid{.low = 0, .high = 1e6}}});
  static constexpr bool kConspires = true;

  void conspire(const AttackRound& round, std::span<const std::span<const float>> honest, std::size_t attacking,
                std::span<float> out) const;
};

/// The paper's z for n clients, f of them attackers; 0 where the attackers are a majority already.
double little_is_enough_z(std::size_t n, std::size_t f);

}  // namespace fedstride
