#pragma once

#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

#include "client/attacks/attack.hpp"

namespace fedstride {

struct LittleIsEnoughSettings : Attackers {
  double z = 0;
  static constexpr auto kFields =
      fields(Attackers::kFields, Field{"alie-z", &LittleIsEnoughSettings::z,
                                       "standard deviations from the honest mean; 0: the paper's value for the round's "
                                       "clients and attackers",
                                       Valid{.low = 0, .high = 1e6}});
};

/// The paper's z for n clients, f of them attackers; 0 if that z is not positive or the attackers already have a majority.
inline double little_is_enough_z(std::size_t n, std::size_t f) {
  const std::size_t majority = n / 2 + 1;
  const auto supporters = static_cast<double>(majority) - static_cast<double>(f);
  const auto honest = static_cast<double>(n - f);
  const double below = (honest - supporters) / honest;
  if (!(below > 0.5) || below >= 1) return 0;
  return std::numbers::sqrt2 * boost::math::erf_inv(2 * below - 1);
}

/// A little is enough (Baruch, Baruch & Goldberg 2019, Algorithm 3): all attackers send, coordinate by coordinate, the mean of
/// the honest updates minus z standard deviations, z = Phi^-1((n - f - s) / (n - f)), s = floor(n/2 + 1) - f. It is the largest
/// z for which s honest updates, a majority together with the attackers, are expected to lie farther from the mean.
struct LittleIsEnough final : AttackBase<LittleIsEnough, LittleIsEnoughSettings> {
  static constexpr std::string_view kName = "alie";
  static constexpr std::string_view kSummary = "the honest mean minus z standard deviations (ALIE; Baruch et al. 2019)";

  bool conspires() const override { return true; }
  void conspire(const AttackRound&, std::span<const std::span<const float>> honest, std::size_t attacking,
                std::span<float> out) const override {
    const double far = z > 0 ? z : little_is_enough_z(honest.size() + attacking, attacking);
    const auto count = static_cast<double>(honest.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      double sum = 0;
      for (const std::span<const float> update : honest) sum += static_cast<double>(update[i]);
      const double mean = sum / count;
      double squares = 0;
      for (const std::span<const float> update : honest)
        squares += (static_cast<double>(update[i]) - mean) * (static_cast<double>(update[i]) - mean);
      out[i] = static_cast<float>(mean - far * std::sqrt(squares / count));
    }
  }
};

}  // namespace fedstride
