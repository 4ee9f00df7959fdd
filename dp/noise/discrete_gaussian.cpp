#include "dp/noise/discrete_gaussian.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace fedstride {
namespace {

/// Bernoulli(numerator / denominator); numerator <= denominator.
bool bernoulli(std::uint64_t numerator, std::uint64_t denominator, RandomStream& random) {
  return random.below(denominator) < numerator;
}

/// Bernoulli(exp(-g)) where attempt() is Bernoulli(g), g in [0, 1] (Algorithm 1): the first k without a success of Bernoulli(g /
/// k) is odd with probability exp(-g). Bernoulli(g / k) succeeds if Bernoulli(g) and an independent Bernoulli(1 / k) do.
bool bernoulli_exp(RandomStream& random, auto attempt) {
  std::uint64_t k = 1;
  while (attempt() && (k == 1 || random.below(k) == 0)) ++k;
  return k % 2 == 1;
}

/// Bernoulli(exp(-1/2)).
bool bernoulli_exp_half(RandomStream& random) {
  return bernoulli_exp(random, [&] { return (random() & 1U) != 0; });
}

/// The number of successes of Bernoulli(exp(-1)) before the first failure.
std::uint64_t geometric(RandomStream& random) {
  std::uint64_t successes = 0;
  while (bernoulli_exp(random, [] { return true; })) ++successes;
  return successes;
}

}  // namespace

DiscreteGaussian::DiscreteGaussian(std::uint64_t p, std::uint64_t q) : p_(p), q_(q) {
  if (p == 0 || p > std::uint64_t{1} << 62)
    throw usage_error("the discrete Gaussian's sigma is " + std::to_string(p) +
                      " units; it must be from 1 to 2^62, 4611686018427387904");
  if (q == 0 || q > std::min(p, std::uint64_t{1} << 20))
    throw usage_error("the discrete Gaussian's unit is divided into " + std::to_string(q) +
                      " parts; valid: 1 to 2^20, with a sigma of at least 1");
}

__int128 DiscreteGaussian::operator()(RandomStream& random) const {
  // Algorithm 3 with the discrete Laplace of scale t = sigma (any t is valid; the paper uses floor(sigma) + 1): Y q = U + p V is
  // kept with probability exp(-(|Y| - sigma)^2 / (2 sigma^2)) = exp(-(a + V - 1)^2 / 2) with a = U / p. The exponential of a sum
  // is a conjunction of independent draws, so no number needs more than 64 bits.
  for (;;) {
    // Algorithm 2: P(U) proportional to exp(-U / p) on 0 ... p - 1; |Y| = floor((U + p V) / q).
    std::uint64_t u = random.below(p_);
    const auto fraction = [&] { return bernoulli(u, p_, random); };
    if (!bernoulli_exp(random, fraction)) continue;
    std::uint64_t v = geometric(random);
    const __int128 size = (static_cast<__int128>(p_) * v + u) / q_;
    u = static_cast<std::uint64_t>(size * q_ % p_);
    v = static_cast<std::uint64_t>(size * q_ / p_);
    const bool negative = (random() & 1U) != 0;
    if (negative && size == 0) continue;

    const auto half_square = [&](std::uint64_t numerator) {  // exp(-(numerator / p)^2 / 2)
      return bernoulli_exp(
          random, [&] { return (random() & 1U) != 0 && bernoulli(numerator, p_, random) && bernoulli(numerator, p_, random); });
    };
    bool kept = true;
    if (v == 0) {
      kept = half_square(p_ - u);
    } else {
      const std::uint64_t k = v - 1;  // (a + k)^2 / 2 = a^2 / 2 + k a + k^2 / 2
      kept = half_square(u);
      for (std::uint64_t i = 0; kept && i < k; ++i) kept = bernoulli_exp(random, fraction);
      for (std::uint64_t i = 0; kept && i < k; ++i)
        for (std::uint64_t j = 0; kept && j < k; ++j) kept = bernoulli_exp_half(random);
    }
    if (kept) return negative ? -size : size;
  }
}

}  // namespace fedstride
