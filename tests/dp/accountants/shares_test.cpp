// Noise that clients add in shares, as accountants see it: numbers of a second program (distributed_noise.py), exact probabilities in one
// dimension, and what the accountants refuse.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/spending.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::shares_test {
namespace {

Releases shared(NoiseLaw law, double multiplier, NoiseShares shares, Neighbours neighbours = Neighbours::zero_out) {
  return {.sampling = Sampling::full, .neighbours = neighbours, .noise_multiplier = multiplier, .law = law, .shares = shares};
}

using Masses = std::vector<double>;

Masses convolved(const Masses& a, const Masses& b) {
  Masses sum(a.size() + b.size() - 1);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) sum[i + j] += a[i] * b[j];
  return sum;
}

// delta at epsilon of noise with these masses, and the same moved by so many steps.
double exact_delta(const Masses& masses, std::size_t distance, double epsilon) {
  double delta = 0;
  for (std::size_t i = 0; i < masses.size(); ++i)
    delta += std::max(0.0, masses[i] - std::exp(epsilon) * (i >= distance ? masses[i - distance] : 0));
  return delta;
}

Masses discrete_gaussian(double sigma) {
  const int most = static_cast<int>(9 * sigma);
  Masses masses;
  double total = 0;
  for (int x = -most; x <= most; ++x) total += masses.emplace_back(std::exp(-x * x / (2 * sigma * sigma)));
  for (double& mass : masses) mass /= total;
  return masses;
}

TEST_CASE("rdp of 24 settings is that of a second program") {
  const struct {
    NoiseLaw law;
    Neighbours neighbours;
    double step, multiplier;
    std::uint64_t shares, dimension, rounds;
    double delta, epsilon;
  } known[] = {
      {kLaw<SkellamLaw>, Neighbours::zero_out, 0.022179672860499041, 3.184, 322, 65536, 6, 1e-07, 15.2236308849},
      {kLaw<DiscreteGaussianLaw>, Neighbours::zero_out, 0.030318018158579207, 1.199, 391, 256, 7, 1e-06, 13.9616324295},
      {kLaw<SkellamLaw>, Neighbours::replace_one, 0.12755514803203233, 0.556, 19, 32, 11, 0.0001, 205.341577379},
      {kLaw<DiscreteGaussianLaw>, Neighbours::replace_one, 0.01948557158514987, 1.35, 300, 65536, 3, 1e-08, 65.0270485826},
      {kLaw<SkellamLaw>, Neighbours::zero_out, 0.18271737159615767, 3.462, 359, 64, 5, 1e-07, 4.91991529376},
      {kLaw<DiscreteGaussianLaw>, Neighbours::zero_out, 0.00054703525444674294, 0.571, 266, 4096, 11, 1e-06, 46.1964216942},
      {kLaw<SkellamLaw>, Neighbours::replace_one, 0.35966377010054235, 3.755, 109, 2097152, 1, 1e-05, 19674.5359581},
      {kLaw<DiscreteGaussianLaw>, Neighbours::replace_one, 0.00093526785714285706, 0.838, 49, 65536, 6, 1e-08, 51.7361279878},
      {kLaw<SkellamLaw>, Neighbours::zero_out, 0.00043324850450374066, 0.518, 349, 1048576, 8, 1e-07, 46.0293647752},
      {kLaw<DiscreteGaussianLaw>, Neighbours::zero_out, 0.010593750000000001, 1.356, 16, 8, 11, 1e-05, 13.8737492197},
      {kLaw<SkellamLaw>, Neighbours::replace_one, 0.27820280372418971, 3.172, 130, 8192, 4, 0.0001, 271.93801518},
      {kLaw<DiscreteGaussianLaw>, Neighbours::replace_one, 0.0020475377650911735, 1.393, 113, 32, 2, 1e-07, 12.8856899942},
      {kLaw<SkellamLaw>, Neighbours::zero_out, 0.10685524111241099, 1.036, 94, 262144, 9, 1e-06, 6471.9463655},
      {kLaw<DiscreteGaussianLaw>, Neighbours::zero_out, 0.0024807736584590524, 0.855, 116, 8192, 9, 0.0001, 20.3246697349},
      {kLaw<SkellamLaw>, Neighbours::replace_one, 0.00024473212946288367, 0.605, 373, 512, 10, 1e-06, 121.739039252},
      {kLaw<DiscreteGaussianLaw>, Neighbours::replace_one, 0.00024543550105916997, 1.244, 392, 1024, 3, 1e-08, 19.8900078448},
      {kLaw<SkellamLaw>, Neighbours::zero_out, 0.014480191891242574, 0.863, 222, 256, 9, 0.0001, 20.2695717651},
      {kLaw<DiscreteGaussianLaw>, Neighbours::zero_out, 0.0011612231412301635, 1.443, 377, 65536, 11, 1e-05, 12.9114515234},
      {kLaw<SkellamLaw>, Neighbours::replace_one, 0.039687500000000001, 0.635, 256, 1024, 8, 1e-08, 134.243261509},
      {kLaw<DiscreteGaussianLaw>, Neighbours::replace_one, 0.010083772765703743, 3.116, 373, 32768, 1, 0.0001, 3.58477889028},
      {kLaw<SkellamLaw>, Neighbours::zero_out, 0.0019465578696930906, 3.112, 156, 64, 5, 0.0001, 2.85338721428},
      {kLaw<DiscreteGaussianLaw>, Neighbours::zero_out, 0.020611134896516101, 4.325, 43, 131072, 8, 1e-08, 17.8898753882},
      {kLaw<SkellamLaw>, Neighbours::replace_one, 0.18770588235294117, 3.191, 289, 32768, 2, 1e-05, 242.11670177},
      {kLaw<DiscreteGaussianLaw>, Neighbours::replace_one, 0.00070113101427513491, 1.25, 194, 131072, 5, 1e-06, 25.4455152659},
  };
  for (const auto& one : known) {
    CAPTURE(one.epsilon);
    const Releases release = shared(one.law, one.multiplier, {one.step, one.dimension, one.shares}, one.neighbours);
    double least = std::numeric_limits<double>::infinity();
    for (int order = 2; order <= 256; order = order == 128 ? 256 : order + 1)
      least = std::min(least, epsilon_at(Conversion::improved, order,
                                         static_cast<double>(one.rounds) * release_rdp(release, order), one.delta));
    CHECK(least == doctest::Approx(one.epsilon).epsilon(1e-9));
    Releases all = release;
    all.count = one.rounds;
    const double answer = Rdp{}.epsilon(Spending{all}, one.delta).value;  // fractional orders, too
    CHECK(answer < least * 1.02);
    CHECK(answer > least * 0.8);
  }
}

TEST_CASE("twenty of a hundred drop out at mu 1: 4.377 becomes 4.983") {
  // On a fine grid; the noise of a client stays what it is.
  const Releases all = shared(kLaw<DiscreteGaussianLaw>, 1, {1e-6, 1024, 100});
  const Releases fewer = shared(kLaw<DiscreteGaussianLaw>, std::sqrt(0.8), {1e-6, 1024, 80});
  CHECK(Tight{}.epsilon(Spending{all}, 1e-5).value == doctest::Approx(4.377).epsilon(1e-4));
  CHECK(Tight{}.epsilon(Spending{fewer}, 1e-5).value == doctest::Approx(4.983).epsilon(1e-4));
  CHECK(Rdp{}.epsilon(Spending{all}, 1e-5).value == doctest::Approx(4.7277).epsilon(1e-3));
}

TEST_CASE("in one dimension no bound is below the exact delta, and tight is near it") {
  const Masses one = discrete_gaussian(20);
  const Masses three = convolved(convolved(one, one), one);
  // A clip of 30 steps: rounded vectors have a norm of at most 30.59, and so of 30.
  const NoiseShares shares{1.0 / 30, 1, 3};
  const double multiplier = std::sqrt(3.0) * 20 / 30;
  for (const double epsilon : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    CAPTURE(epsilon);
    const double exact = exact_delta(three, 30, epsilon);
    const Spending discrete{shared(kLaw<DiscreteGaussianLaw>, multiplier, shares)};
    CHECK(Tight{}.delta(discrete, epsilon).value >= exact);
    CHECK(Tight{}.delta(discrete, epsilon).value < exact_delta(three, 31, epsilon) * 1.02);
    CHECK(Rdp{}.delta(discrete, epsilon).value >= exact);
    CHECK(Rdp{}.delta(Spending{shared(kLaw<SkellamLaw>, multiplier, shares)}, epsilon).value > exact * 0.99);
    const double inverse = Tight{}.epsilon(discrete, Tight{}.delta(discrete, epsilon).value).value;
    CHECK(inverse == doctest::Approx(epsilon).epsilon(1e-3));
  }
  // Coarse grids: the law of the sum is far from a Gaussian's, and the bounds say so.
  const Masses coarse = discrete_gaussian(0.7);
  const Masses sum = convolved(coarse, coarse);
  const Spending spending{shared(kLaw<DiscreteGaussianLaw>, std::sqrt(2.0) * 0.7 / 2, {0.5, 1, 2})};
  for (const double epsilon : {1.0, 4.0, 8.0}) {
    CHECK(Tight{}.delta(spending, epsilon).value >= exact_delta(sum, 2, epsilon));
    CHECK(Rdp{}.delta(spending, epsilon).value >= exact_delta(sum, 2, epsilon));
  }
}

TEST_CASE("Skellam in one dimension: rdp is not below the exact delta of the sum") {
  for (const double variance : {4.0, 50.0, 400.0}) {
    Masses poisson{std::exp(-variance / 2)};
    for (int k = 1; k < static_cast<int>(2 * variance) + 60; ++k) poisson.push_back(poisson.back() * variance / 2 / k);
    Masses mirrored(poisson.rbegin(), poisson.rend());
    const Masses skellam = convolved(poisson, mirrored);
    const double clip = std::sqrt(variance);  // in steps: a noise multiplier of 1
    const auto distance = static_cast<std::size_t>(std::floor(rounded_norm({.step = 1, .clip = clip, .dimension = 1})));
    const Spending spending{shared(kLaw<SkellamLaw>, 1, {1 / clip, 1, 10})};
    for (const double epsilon : {0.5, 1.0, 2.0, 4.0}) {
      CAPTURE(variance);
      CAPTURE(epsilon);
      CHECK(Rdp{}.delta(spending, epsilon).value >= exact_delta(skellam, distance, epsilon));
    }
  }
}

TEST_CASE("what has no bound is refused; releases that differ in their noise are not merged") {
  const Spending skellam{shared(kLaw<SkellamLaw>, 1, {1e-3, 64, 10})};
  const Spending discrete{shared(kLaw<DiscreteGaussianLaw>, 1, {1e-3, 64, 10})};
  CHECK(names(Tight{}.unsound(skellam), {"skellam", "rdp", "discrete-gaussian"}));
  CHECK(Tight{}.unsound(discrete).empty());
  CHECK(Rdp{}.unsound(skellam).empty());
  for (const Spending& spending : {skellam, discrete}) {
    CHECK(names(Zcdp{}.unsound(spending), {"shares", "rdp"}));
    CHECK(names(Strong{}.unsound(spending), {"shares", "rdp"}));
    CHECK(names(Basic{}.unsound(spending), {"shares", "rdp"}));
    CHECK(names(Moments{}.unsound(spending), {"shares", "rdp"}));
    Releases sampled = spending[0];
    sampled.sampling = Sampling::poisson;
    sampled.rate = 0.1;
    CHECK(names(Rdp{}.unsound(Spending{sampled}), {"shares", "sampling"}));
  }
  Spending both = skellam;
  merge(both, discrete);
  CHECK(both.size() == 2);
  CHECK(merged(both).size() == 2);
  merge(both, skellam);
  CHECK(both.size() == 2);
  Releases none = skellam[0];
  none.shares.count = 0;
  CHECK_USAGE_ERROR(Rdp{}.epsilon(Spending{none}, 1e-5), "0 shares");
}

}  // namespace
}  // namespace fedstride::test::shares_test
