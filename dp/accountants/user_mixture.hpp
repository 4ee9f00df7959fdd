#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fedstride {

/// A user with at most `bound` rows. Each row is drawn into a lot independently with probability `rate`, and its gradient is
/// clipped to norm 1 (ELS: Charles et al. 2024), so the sum moves by at most the number of rows drawn. The dominating pair of one
/// release is the mixture sum_j Binomial(bound, rate)(j) N(j, z^2) against N(0, z^2), in both directions.
struct UserMixture {
  std::uint64_t bound = 1;
  double rate = 1;
  double noise_multiplier = 1;
};

/// The delta and the epsilon of one release: the larger value over both directions, rounded up. Throw Error (usage) unless 1 <=
/// bound <= 1000, 0 < rate <= 1, noise multiplier in [0.1, 1e4].
double user_mixture_delta(const UserMixture& mixture, double epsilon);
double user_mixture_epsilon(const UserMixture& mixture, double delta);

/// The Rényi divergence of one release at an order above 1 (the larger of both directions), computed by the trapezoid rule with a
/// relative error below 1e-9.
double user_mixture_rdp(const UserMixture& mixture, double order);
/// The divergences at several orders; takes little longer than the largest order alone.
std::vector<double> user_mixture_rdp(const UserMixture& mixture, std::span<const double> orders);
/// An upper bound on the epsilon of many releases, from the standard grid's orders and the improved conversion.
double user_mixture_epsilon(const UserMixture& mixture, std::uint64_t releases, double delta);

}  // namespace fedstride
