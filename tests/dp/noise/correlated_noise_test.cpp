// Correlated noise, step by step, against its dense matrix; its covariance over many draws; one band; its state.
#include "dp/noise/correlated_noise.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "core/error.hpp"
#include "dp/correlations/correlation.hpp"
#include "dp/correlations/toeplitz.hpp"
#include "dp/correlations/tree.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride::test::correlated_noise_test {
namespace {

constexpr double kDeviation = 0x1p21;  // so that an integer of the sum is 2^-61 deviations
constexpr NoiseGrid kGrid{kDeviation, 16};
const RandomSource kSource(std::uint64_t{5});

Correlation planned(const std::string& name) {
  if (name == "banded") return plan_correlation(BandedNoise(), 4, 12);
  if (name == "blt") return plan_correlation(BufferedNoise({4}), 3, 12);
  return plan_correlation(TreeNoise({name == "restarted" ? 5 : 0}), 1, 12);
}

std::vector<double> in_deviations(ExactSum& sum) {
  std::vector<double> values;
  for (const __int128 integer : sum.integers()) values.push_back(static_cast<double>(integer) / (kDeviation * ExactSum::kScale));
  return values;
}

std::vector<double> added(CorrelatedNoise& noise, std::size_t size, std::uint32_t round, const RandomSource& source = kSource) {
  ExactSum sum(size);
  noise.add(sum, kGrid, source, round);
  return in_deviations(sum);
}

/// The draw of a component, of the node of this height that ends in this round.
double draw(std::uint32_t round, std::uint32_t height, std::size_t component) {
  double steps = 0;
  draw_grid_noise(kSource, {.purpose = Purpose::client_noise, .round = round, .step = height}, component, kGrid.bits,
                  std::span(&steps, 1));
  return steps * kGrid.step() / kDeviation;
}

/// The best estimate from below of the noise of the node over `width` rounds that ends in `round`, by definition: node and children
/// weighted by 1 / variance. Returns it with its variance.
std::pair<double, double> node_estimate(std::uint32_t round, std::uint32_t height, std::size_t component) {
  const double own = draw(round, height, component);
  if (height == 0) return {own, 1};
  const auto right = node_estimate(round, height - 1, component);
  const auto left = node_estimate(round - (1U << (height - 1)), height - 1, component);
  const double below = left.second + right.second;
  const double weight = 1 / (1 + 1 / below);
  return {weight * own + (1 - weight) * (left.first + right.first), weight};
}

/// Of the noise of the sum of the first `local` rounds of the tree that begins after round `offset`.
double prefix_estimate(std::uint32_t offset, std::uint32_t local, std::size_t component) {
  double sum = 0;
  std::uint32_t end = 0;
  for (std::uint32_t height = 31; height-- > 0;)
    if ((local >> height & 1) != 0) sum += node_estimate(offset + (end += 1U << height), height, component).first;
  return sum;
}

}  // namespace

TEST_CASE("step by step equals the dense matrix: banded, blt, trees") {
  constexpr std::size_t kSize = 1500;  // two rows of draws
  for (const std::string name : {"banded", "blt", "tree", "restarted"}) {
    CAPTURE(name);
    const Correlation correlation = planned(name);
    CorrelatedNoise noise(correlation, kSize);
    std::vector<double> inverse;
    if (name == "banded") inverse = inverse_series(correlation.coefficients, 12);
    if (name == "blt") inverse = inverse_series(buffered_of(correlation).coefficients(12), 12);
    for (std::uint32_t round = 1; round <= 12; ++round) {
      const std::vector<double> found = added(noise, kSize, round);
      for (const std::size_t component : {0, 7, 1023, 1024, 1499}) {
        double expected = 0;
        if (!inverse.empty()) {
          for (std::uint32_t lag = 0; lag < round; ++lag) expected += inverse[lag] * draw(round - lag, 0, component);
        } else {
          const std::uint32_t length = name == "restarted" ? 5 : 12;
          const std::uint32_t offset = (round - 1) / length * length;
          expected = prefix_estimate(offset, round - offset, component) - prefix_estimate(offset, round - 1 - offset, component);
        }
        CHECK(std::abs(found[component] - expected) < 1e-12);
      }
    }
  }
}

TEST_CASE("the noise has the covariance that is claimed, over many draws") {
  constexpr std::size_t kDraws = 20'000;
  constexpr std::size_t kRounds = 6;
  for (const std::string name : {"banded", "blt", "tree"}) {
    CAPTURE(name);
    const Correlation correlation = planned(name);
    CorrelatedNoise noise(correlation, kDraws);  // each component is a draw
    std::vector<std::vector<double>> rounds;
    for (std::uint32_t round = 1; round <= kRounds; ++round) rounds.push_back(added(noise, kDraws, round));
    const auto covariance = [&](const std::vector<double>& a, const std::vector<double>& b) {
      double sum = 0;
      for (std::size_t i = 0; i < kDraws; ++i) sum += a[i] * b[i];
      return sum / kDraws;
    };
    const double error = 5 * 2 / std::sqrt(static_cast<double>(kDraws));
    if (name == "tree") {
      std::vector<double> prefix(kDraws, 0.0);
      for (std::size_t t = 0; t < kRounds; ++t) {
        for (std::size_t i = 0; i < kDraws; ++i) prefix[i] += rounds[t][i];
        CHECK(covariance(prefix, prefix) == doctest::Approx(tree_variance(t + 1, true)).epsilon(0.06));
      }
      continue;
    }
    const auto c = name == "banded" ? correlation.coefficients : buffered_of(correlation).coefficients(kRounds);
    // C w is white: the covariance of C w_t with C w_u is 1 if t = u, else 0.
    std::vector<std::vector<double>> white = rounds;
    for (std::size_t t = 0; t < kRounds; ++t)
      for (std::size_t lag = 1; lag <= t && lag < c.size(); ++lag)
        for (std::size_t i = 0; i < kDraws; ++i) white[t][i] += c[lag] * rounds[t - lag][i];
    for (std::size_t t = 0; t < kRounds; ++t)
      for (std::size_t u = 0; u <= t; ++u) CHECK(std::abs(covariance(white[t], white[u]) - (t == u ? 1 : 0)) < error);
    CHECK(covariance(rounds[1], rounds[0]) < -0.2);  // noise that cancels in part
  }
}

TEST_CASE("one band is independent noise, bit for bit; pieces may be done in any order") {
  constexpr std::size_t kSize = 20'000;
  const Correlation one{
      .mechanism = make_choice<NoiseMechanism>("mechanism", "banded"), .separation = 1, .horizon = 9, .coefficients = {1.0}};
  CorrelatedNoise noise(one, kSize);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    ExactSum plain(kSize);
    add_noise(plain, {.grid = kGrid}, kSource, {Purpose::client_noise, round});
    CHECK(added(noise, kSize, round) == in_deviations(plain));
  }
  for (const std::string name : {"banded", "blt", "tree"}) {
    CorrelatedNoise forward(planned(name), kSize), backward(planned(name), kSize);
    for (std::uint32_t round = 1; round <= 6; ++round) {
      ExactSum sum(kSize);
      backward.add(sum, kGrid, kSource, round, [](int pieces, function_ref<void(int)> piece) {
        for (int i = pieces; i-- > 0;) piece(i);
      });
      CHECK(added(forward, kSize, round) == in_deviations(sum));
    }
  }
}

TEST_CASE("save, load and go on is go on; a round out of turn, beyond the plan or of another state is refused") {
  constexpr std::size_t kSize = 100;
  for (const std::string name : {"banded", "blt", "tree", "restarted"}) {
    CAPTURE(name);
    CorrelatedNoise noise(planned(name), kSize);
    for (std::uint32_t round = 1; round <= 7; ++round) added(noise, kSize, round);
    CorrelatedNoise again(planned(name), kSize);
    again.load(noise.save());
    CHECK(again.rounds() == 7);
    for (std::uint32_t round = 8; round <= 12; ++round) CHECK(added(noise, kSize, round) == added(again, kSize, round));
    CHECK(again.save() == noise.save());
    CHECK_THROWS_AS(added(noise, kSize, 13), Error);  // planned for 12
    CHECK_THROWS_AS(added(noise, kSize, 12), Error);
    CorrelatedNoise fresh(planned(name), kSize), larger(planned(name), kSize + 1);
    CHECK_THROWS_AS(added(fresh, kSize, 2), Error);
    CHECK_THROWS_AS(added(fresh, kSize + 1, 1), Error);
    CHECK_THROWS_AS(larger.load(noise.save()), Error);
    CHECK_THROWS_AS(fresh.load(noise.save() + "x"), Error);
    CHECK_THROWS_AS(fresh.load(noise.save().substr(1)), Error);
  }
}

}  // namespace fedstride::test::correlated_noise_test
