// The noise of releases: its law against the Gaussian's, number by number and in draws; what rounding is charged; a reader of every bit.
#include "dp/noise/grid_noise.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "core/normals.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sanitized.hpp"

namespace fedstride::test::grid_noise_test {
namespace {

using Wide = boost::multiprecision::cpp_bin_float_100;

constexpr double kWidth = 1 << GridLaw::kCellBits;
const RandomSource kSeeded(std::uint64_t{3});
const RandomSource kSecret(SecretKey{1, 2, 3});

std::vector<double> drawn(const RandomSource& source, const Address& address, std::uint64_t first, std::size_t size,
                          unsigned bits = 0) {
  std::vector<double> numbers(size);
  draw_grid_noise(source, address, first, bits, numbers);
  return numbers;
}

/// The probability of a whole number: the Gaussian's, in [number - 1/2, number + 1/2], by the midpoint series of the integral to three
/// terms with derivatives by hand.
Wide gaussian_probability(double number, unsigned bits) {
  const Wide s = Wide(NoiseGrid::kStepsOfDeviation) * (1U << bits), t = Wide(number) / s, h = 1 / s;
  const Wide pi = boost::math::constants::pi<Wide>();
  const Wide density = exp(-t * t / 2) / sqrt(2 * pi);
  return density * h * (1 + h * h / 24 * (t * t - 1) + pow(h, 4) / 1920 * (pow(t, 4) - 6 * t * t + 3));
}

}  // namespace

TEST_CASE("slots and rejection together have the Gaussian's probability for each whole number, to 2^-64 of all") {
  const GridLaw& law = GridLaw::get();
  std::vector<int> counted(2 * GridLaw::kCells, 0);
  int rest = 0;
  for (int slot = 0; slot < 1 << GridLaw::kSlotBits; ++slot)
    ++(law.slots()[slot] == GridLaw::kRest ? rest : counted[static_cast<std::size_t>(law.slots()[slot] + GridLaw::kCells)]);
  Wide all_weights = 0;
  for (int cell = -GridLaw::kCells; cell < GridLaw::kCells; ++cell) {
    CHECK(law.slots_of(cell) == counted[static_cast<std::size_t>(cell + GridLaw::kCells)]);
    all_weights += law.weight(cell);
  }
  CHECK(all_weights < pow(Wide(2), 64));
  CHECK(rest < (1 << GridLaw::kSlotBits) / 40);

  // An attempt of the rejection takes cell c with weight / 2^64, one of its numbers, and keeps it with probability k. What it keeps of
  // a number must be the same multiple K of what the slots leave over, in all cells.
  RandomStream random(1, {.purpose = Purpose::test});
  for (const unsigned bits : {0U, 5U, 16U}) {
    const Wide all = pow(Wide(2), bits) * Wide(kWidth);  // numbers of a cell
    Wide least = 1e300, most = 0;
    for (int cell = -GridLaw::kCells; cell < GridLaw::kCells; ++cell)
      for (int trial = 0; trial < 4; ++trial) {
        const double place = trial == 0   ? 0
                             : trial == 1 ? kWidth * (1U << bits) - 1
                                          : std::floor(random.uniform() * kWidth * (1U << bits));
        const double number = cell * kWidth * (1U << bits) + place;
        const Wide left_over = gaussian_probability(number, bits) - Wide(law.slots_of(cell)) / (1 << GridLaw::kSlotBits) / all;
        REQUIRE(left_over >= 0);
        // The exact comparison, bisected: the number is kept exactly if the drawn fraction is below this.
        std::uint64_t low = 0, high = std::uint64_t{1} << 46;
        while (low + 1 < high) {
          const std::uint64_t middle = low + (high - low) / 2;
          (law.keeps(cell, number, bits, middle, 0) ? low : high) = middle;
        }
        std::uint64_t fine_low = 0, fine_high = std::numeric_limits<std::uint64_t>::max();
        while (fine_low + 1 < fine_high) {
          const std::uint64_t middle = fine_low + (fine_high - fine_low) / 2;
          (law.keeps(cell, number, bits, low, middle) ? fine_low : fine_high) = middle;
        }
        const Wide exact = (Wide(low) + Wide(fine_low) / pow(Wide(2), 64)) / pow(Wide(2), 46);
        REQUIRE(exact <= 1);
        const double close = law.kept(cell, number, bits);
        CHECK(std::abs(close - static_cast<double>(exact)) < GridLaw::kAccuracy);
        const auto [rough, error] = law.roughly_kept(cell, place / (kWidth * (1U << bits)));
        CHECK(std::abs(rough - close) <= error);
        const Wide kept = Wide(law.weight(cell)) / pow(Wide(2), 64) * exact / all;
        if (left_over * all < 1e-25) continue;
        const Wide ratio = kept / left_over;
        if (ratio < least) least = ratio;
        if (ratio > most) most = ratio;
      }
    const Wide off = (most - least) * Wide(rest) / (1 << GridLaw::kSlotBits) / least;
    CAPTURE(static_cast<double>(off));
    CHECK(off < pow(Wide(2), -64));
  }
}

TEST_CASE("draws have the Gaussian's moments and tails, and fill its cells evenly") {
  const std::size_t kDraws = is_sanitized() ? 400'000 : 4'000'000;
  for (const RandomSource* source : {&kSeeded, &kSecret}) {
    const auto numbers = drawn(*source, {Purpose::test, 9}, 0, kDraws);
    double sum = 0, squares = 0, fourth = 0;
    std::size_t beyond[6] = {};
    std::vector<std::size_t> places(64), cells(200);
    for (const double number : numbers) {
      const double z = number / NoiseGrid::kStepsOfDeviation;
      sum += z, squares += z * z, fourth += z * z * z * z;
      for (int k = 0; k < 6; ++k) beyond[k] += std::abs(z) > k;
      REQUIRE(number == std::floor(number));
      const auto whole = static_cast<std::int64_t>(number);
      ++places[static_cast<std::size_t>(whole & 63)];
      if (const double at = std::floor(z * 32) + 100; at >= 0 && at < 200) ++cells[static_cast<std::size_t>(at)];
    }
    const auto n = static_cast<double>(kDraws);
    CHECK(std::abs(sum / n) < 5 / std::sqrt(n));
    CHECK(std::abs(squares / n - 1) < 5 * std::sqrt(2 / n));
    CHECK(std::abs(fourth / n - 3) < 5 * std::sqrt(96 / n));
    for (int k = 0; k < 6; ++k) {
      const double p = std::erfc(k / std::sqrt(2.0));
      CHECK(std::abs(static_cast<double>(beyond[k]) - n * p) < 5 * std::sqrt(n * p) + 3);
    }
    double even = 0;
    for (const std::size_t count : places) even += std::pow(static_cast<double>(count) - n / 64, 2) / (n / 64);
    CHECK(even < 63 + 5 * std::sqrt(2 * 63));
    double fit = 0;
    for (int i = 0; i < 200; ++i) {
      const double a = (i - 100) / 32.0 / std::sqrt(2.0), b = (i - 99) / 32.0 / std::sqrt(2.0);
      const double expected = n * (std::erf(b) - std::erf(a)) / 2;
      fit += std::pow(static_cast<double>(cells[static_cast<std::size_t>(i)]) - expected, 2) / expected;
    }
    CHECK(fit < 200 + 5 * std::sqrt(400));
  }
}

TEST_CASE("a number depends on its index alone; addresses, sources and grids differ") {
  const Address address{Purpose::test, 1, 2, 3};
  for (const RandomSource* source : {&kSeeded, &kSecret})
    for (const unsigned bits : {0U, 7U, 16U}) {
      const auto all = drawn(*source, address, 1000, 5000, bits);
      for (const std::size_t from : {0, 1, 255, 256, 1023, 4999}) {
        const auto part = drawn(*source, address, 1000 + from, 5000 - from, bits);
        CHECK(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(from)));
      }
      CHECK(all != drawn(*source, {Purpose::test, 1, 2, 4}, 1000, 5000, bits));
    }
  CHECK(drawn(kSeeded, address, 0, 100) != drawn(kSecret, address, 0, 100));
  CHECK(drawn(kSeeded, address, kMostNumbers - 5, 5).size() == 5);
  // Further bits refine the same number, unless it goes on to the rejection.
  const auto coarse = drawn(kSeeded, address, 0, 5000), fine = drawn(kSeeded, address, 0, 5000, 4);
  std::size_t same = 0;
  for (std::size_t i = 0; i < coarse.size(); ++i) same += std::floor(fine[i] / 16) == coarse[i];
  CHECK(same > 4800);
}

TEST_CASE("the noise is enlarged by what rounding moves, never above 0.1 % for a million numbers") {
  for (const double z : {1e-6, 0.01, 1.0, 8.0, 20.0, 500.0, 2e5})
    for (const double numbers : {1.0, 1e4, 1e6}) {
      CAPTURE(z);
      CAPTURE(numbers);
      const NoiseGrid grid = noise_grid(2, z, numbers);
      CHECK(grid.deviation >= 2 * z);
      CHECK(grid.deviation <= 2 * z * 1.001);
      // By its definition: z times the sensitivity and what two steps a number add to it.
      CHECK(grid.deviation == doctest::Approx(z * (2 + 2 * std::sqrt(numbers) * grid.step())).epsilon(1e-12));
      CHECK(grid.step() * NoiseGrid::kStepsOfDeviation * (1U << grid.bits) == doctest::Approx(grid.deviation));
    }
  CHECK(accumulation_error(60'000) < 1e-6);
  CHECK_USAGE_ERROR(noise_grid(1, 1e6, 1e12), "1e+06", "at most");
  CHECK_USAGE_ERROR(noise_grid(1, 1e-7, 1), "1e-07", "at least 1e-06");
  CHECK_USAGE_ERROR(noise_grid(1, std::nan(""), 1), "at least");
}

TEST_CASE("rounding to the grid moves a sum by half a step at most, and never takes two sums further apart than that") {
  RandomStream random(5, {.purpose = Purpose::test});
  for (int trial = 0; trial < 100'000; ++trial) {
    const double step = std::exp(20 * random.normal()), magnitude = std::exp(15 * random.normal());
    const double sum = magnitude * random.normal() * step;
    const double found = on_grid(sum, 1 / step);
    REQUIRE(found == std::floor(found));
    if (std::abs(sum / step) < 0x1p50) REQUIRE(std::abs(found - sum / step) <= 0.5 + std::abs(sum / step) * 0x1p-51);
  }
  CHECK(on_grid(1e300, 1) == 0x1p50);
  CHECK(on_grid(-1e300, 1) == -0x1p50);
  CHECK(on_grid(0.5, 1) == 0);
  CHECK(on_grid(1.5, 1) == 2);
}

namespace {

constexpr double kZ = 20;
constexpr std::size_t kNumbers = 256;

/// Sums of two neighboring data sets, at most 1 apart.
struct Candidates {
  explicit Candidates(std::uint32_t trial) {
    RandomStream random(trial, {.purpose = Purpose::test, .round = 77});
    for (std::size_t i = 0; i < kNumbers; ++i) {
      sums[0].push_back(20 * random.normal());
      sums[1].push_back(sums[0][i] + 0.05 * random.normal());
    }
    truth = random() & 1U;
  }
  std::vector<double> sums[2];
  std::size_t truth = 0;
};

/// Box-Muller in single precision, as core/normals.hpp describes it, for the words that a stranger tries.
float length_of(std::uint32_t word, float scale) {
  const float scaled = static_cast<float>(word) + 0.5F;
  const std::int32_t bits = std::bit_cast<std::int32_t>(scaled) - (0x3f3504f3 + (32 << 23));
  const auto exponent = static_cast<float>(bits >> 23);
  const float m = std::bit_cast<float>((bits & 0x007fffff) + 0x3f3504f3);
  const float f = exponent == 0 ? (static_cast<float>(~word) + 0.5F) * -0x1p-32F : m - 1;
  float p = -0x1.65448ap-3F;
  for (const float c :
       {0x1.263ba2p-2F, -0x1.3238f0p-2F, 0x1.5332a4p-2F, -0x1.98b748p-2F, 0x1.000570p-1F, -0x1.555792p-1F, 0x1.fffff8p-1F, -2.0F})
    p = std::fma(p, f, c);
  return std::sqrt(std::fma(p, f, exponent * -0x1.62e430p+0F)) * scale;
}

/// The larger and the smaller of |cos| and |sin|, the latter with its sign, for an angle of `part` x 2^-30 quarter turns.
std::pair<float, float> direction_of(std::int32_t part) {
  const float t = std::fma(static_cast<float>(part * 4), 0x1p-32F, 0x1p-33F), square = t * t;
  float s = -0x1.2d9302p-8F;
  for (const float c : {0x1.465e92p-4F, -0x1.4abbbap-1F, 0x1.921fb6p+0F}) s = std::fma(s, square, c);
  float c = 0x1.d99f54p-11F;
  for (const float next : {-0x1.55c4eap-6F, 0x1.03c1dap-2F, -0x1.3bd3ccp+0F, 1.0F}) c = std::fma(c, square, next);
  return {c, s * t};
}

/// How many pairs of words turn a candidate's two numbers into the two released ones.
std::size_t preimages(float from_a, float from_b, float a, float b, float scale) {
  const double x = (static_cast<double>(a) - from_a) / scale, y = (static_cast<double>(b) - from_b) / scale, r = std::hypot(x, y);
  const double u = std::exp(-r * r / 2) * 0x1p32;
  if (u < 0x1p19 || u > 0x1p31) return 1;  // too far out, or too close to 0, to be worth the time
  const bool swapped = std::abs(y) > std::abs(x), negative = (swapped ? y : x) < 0;
  const double part = std::asin((swapped ? x : y) / r) / std::acos(0.0) * 0x1p30;
  const double ulps = (std::abs(std::nextafter(a, 99.0F) - a) + std::abs(std::nextafter(b, 99.0F) - b)) / scale / 2 + r * 0x1p-23;
  const auto angles = static_cast<std::int32_t>(ulps / r / std::acos(0.0) * 0x1p30) + 4;
  const auto lengths = static_cast<std::int32_t>(ulps * r * u) + 4;
  std::vector<float> all;
  for (std::int32_t i = -lengths; i <= lengths; ++i)
    all.push_back(length_of(static_cast<std::uint32_t>(std::llround(u) + i), scale));
  std::size_t count = 0;
  for (std::int32_t i = -angles; i <= angles; ++i) {
    auto [large, small] = direction_of(static_cast<std::int32_t>(std::llround(part)) + i);
    if (negative) large = -large;
    const float cosine = swapped ? small : large, sine = swapped ? large : small;
    for (const float length : all) count += (std::fma(length, cosine, from_a) == a) & (std::fma(length, sine, from_b) == b);
  }
  return count;
}

}  // namespace

TEST_CASE("a reader of every bit, without the key, tells candidates apart under the noise of before, in 40 of 40") {
  constexpr float kFactor = 1.0F / 200, kScale = static_cast<float>(kZ) * kFactor;
  const std::uint32_t trials = is_sanitized() ? 4 : 40;
  std::uint32_t right = 0;
  for (std::uint32_t trial = 0; trial < trials; ++trial) {
    const Candidates candidates(trial);
    std::vector<float> from[2];
    for (const std::size_t c : {0, 1})
      for (const double sum : candidates.sums[c]) from[c].push_back(static_cast<float>(sum) * kFactor);
    std::vector<float> released = from[candidates.truth];
    add_normals(kSecret, {Purpose::noise, trial}, 0, kScale, released);
    double evidence = 0;
    for (std::size_t pair = 0; pair < 48; ++pair) {
      const std::size_t a = pair / 16 * 32 + pair % 16, b = a + 16;
      const auto count = [&](std::size_t c) {
        return static_cast<double>(preimages(from[c][a], from[c][b], released[a], released[b], kScale));
      };
      evidence += std::log((count(1) + 0.1) / (count(0) + 0.1));
    }
    right += (evidence > 0) == (candidates.truth == 1) ? 1 : 0;
  }
  CHECK(right == trials);
}

TEST_CASE(
    "under the noise on the grid every bit of a release is as likely under both candidates; 40 guesses are as chance would have "
    "them") {
  int right = 0;
  for (std::uint32_t trial = 0; trial < 40; ++trial) {
    const Candidates candidates(trial);
    const NoiseGrid grid = noise_grid(1, kZ, kNumbers);
    std::vector<double> released(kNumbers);
    release_on_grid(grid, kSecret, {Purpose::noise, trial}, 0, candidates.sums[candidates.truth], 1, std::span<double>(released));
    double evidence = 0;
    for (std::size_t i = 0; i < kNumbers; ++i) {
      // The whole number of steps is there to be read; the noise of each candidate is one, and its probability is the Gaussian's.
      const double steps = released[i] / grid.step();
      REQUIRE(std::abs(steps - std::nearbyint(steps)) < 1e-6);
      double log_probability[2];
      for (const std::size_t c : {0, 1}) {
        const double noise = std::nearbyint(steps) - on_grid(candidates.sums[c][i], 1 / grid.step());
        REQUIRE(noise == std::floor(noise));
        log_probability[c] = static_cast<double>(log(gaussian_probability(noise, grid.bits)));
      }
      evidence += log_probability[1] - log_probability[0];
    }
    // A release at multiplier 20 tells a reader of everything about 1 / 20 nats.
    CHECK(std::abs(evidence) < 0.3);
    right += (evidence > 0) == (candidates.truth == 1);
  }
  // Chance: 20 on average, with a deviation of 3.2.
  CHECK(right >= 7);
  CHECK(right <= 33);
}

}  // namespace fedstride::test::grid_noise_test
