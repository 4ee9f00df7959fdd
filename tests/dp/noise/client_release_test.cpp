#include "dp/noise/client_release.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/eigen.hpp"
#include "core/error.hpp"
#include "core/floating_point.hpp"
#include "core/hash.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::client_release_test {
namespace {

using Squares = unsigned __int128;
const RandomSource kSource(std::uint64_t{21});

/// Squared L2 norm of what the exact sum makes of it, in units of 2^-80: exact.
Squares quantized_squares(std::span<const float> values) {
  Squares sum = 0;
  for (const float value : values) {
    const auto integer = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(value) * ExactSum::kScale));
    sum += static_cast<Squares>(static_cast<__int128>(integer) * integer);
  }
  return sum;
}

/// bound^2 in the same units; bound x 2^40 is a whole number.
Squares square_of(double bound) {
  const auto units = static_cast<Squares>(bound * ExactSum::kScale);
  REQUIRE(static_cast<double>(units) == bound * ExactSum::kScale);
  return units * units;
}

bool within(const UpdateClip& clip, const std::vector<float>& change) {
  Vector out;
  clip.clip(change, out);
  return ExactSum::admits(view(std::as_const(out))) && quantized_squares(view(std::as_const(out))) <= square_of(clip.bound());
}

std::vector<float> random_vector(std::size_t size, double length, std::uint32_t row) {
  RandomStream random(2, {.purpose = Purpose::test, .row = row});
  std::vector<float> values(size);
  double squares = 0;
  for (auto& value : values) {
    value = static_cast<float>(random.normal());
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  for (auto& value : values) value = static_cast<float>(static_cast<double>(value) * length / std::sqrt(squares));
  return values;
}

TEST_CASE("random updates, longer and shorter and just as long as the bound, are within it once quantized") {
  std::uint32_t row = 0;
  for (const double bound : {1.0, 0.125, 3.0, 1000.0, 0x1p-20, 0x1p-30})
    for (const std::size_t size : {1, 2, 17, 1000})
      for (const double length : {1e-3, 0.999999, 0.99999994, 1.0, 1.0000001, 1.5, 1e3})
        for (int trial = 0; trial < 5; ++trial) REQUIRE(within(UpdateClip(bound), random_vector(size, length * bound, row++)));
  REQUIRE(within(UpdateClip(1), random_vector(1000000, 1, row)));
}

TEST_CASE("components that all round upwards would be too long by far; the clip makes room for that") {
  // 3.5 units of 2^-40 are 4 in the sum: a norm of 3,500 units becomes 4,000, past a bound of 3,600.
  const std::vector<float> change(1000000, 3.5F * 0x1p-40F);
  CHECK(quantized_squares(change) > square_of(3600 * 0x1p-40));
  CHECK(within(UpdateClip(3600 * 0x1p-40), change));
  // No room at all: nothing is left of it.
  Vector out;
  UpdateClip(400 * 0x1p-40).clip(change, out);
  CHECK(is_zero(view(out)));
}

TEST_CASE("updates of extreme make are within the bound: denormals, all equal, one huge, many tiny beside it") {
  const float largest = std::nextafter(ExactSum::kMaxMagnitude, 0.0F);
  std::vector<std::vector<float>> changes{
      std::vector<float>(100000, std::numeric_limits<float>::denorm_min()),
      std::vector<float>(100000, std::numeric_limits<float>::min()),
      std::vector<float>(100000, 0.1F),
      std::vector<float>(100000, largest),
      std::vector<float>(100000, 0x1.8p-41F),
      std::vector<float>(100000, 0.0F),
      {-largest},
      {1.0F},
      {std::nextafter(1.0F, 2.0F)},
      {0.70710677F, 0.70710677F},
      {0.70710683F, -0.70710683F},
  };
  changes.emplace_back(100000, 0x1.fffffep-42F).front() = largest;
  changes.emplace_back(100000, -0x1.8p-41F).back() = 0.9999999F;
  const auto all_within = [&] {
    for (const double bound : {1.0, 0x1p-12, 4194304.0})
      for (const auto& change : changes) CHECK(within(UpdateClip(bound), change));
  };
  all_within();
  const FloatingPointMode mode;  // as threads that train have it: denormals are zero
  all_within();
}

TEST_CASE("what is short enough is not touched; what is too long keeps its direction and nearly all of the bound") {
  const auto shorter = random_vector(5000, 0.99, 1);
  Vector out;
  CHECK(UpdateClip(1).clip(shorter, out) == doctest::Approx(0.99).epsilon(1e-6));
  CHECK(std::ranges::equal(view(std::as_const(out)), shorter));

  const auto longer = random_vector(5000, 7, 2);
  CHECK(UpdateClip(1).clip(longer, out) == doctest::Approx(7).epsilon(1e-6));
  CHECK(eigen(out).cast<double>().norm() == doctest::Approx(1).epsilon(1e-6));
  for (std::size_t i = 0; i < out.size(); ++i)
    CHECK(out[i] == doctest::Approx(static_cast<double>(longer[static_cast<std::size_t>(i)]) / 7).epsilon(1e-6));
}

TEST_CASE("per layer: each of L layers is clipped to S / sqrt(L), what is in none is zero, all of it within S") {
  const UpdateClip clip(2, {{0, 100}, {300, 50}, {100, 200}, {360, 40}});
  auto change = random_vector(410, 30, 3);
  for (std::size_t i = 100; i < 300; ++i) change[i] *= 1e-3F;
  Vector out;
  CHECK(clip.clip(change, out) == doctest::Approx(30).epsilon(0.5));
  const auto norm_of = [&](std::ptrdiff_t offset, std::ptrdiff_t size) {
    return eigen(out).segment(offset, size).cast<double>().norm();
  };
  CHECK(norm_of(0, 100) == doctest::Approx(1).epsilon(1e-6));
  CHECK(norm_of(300, 50) == doctest::Approx(1).epsilon(1e-6));
  CHECK(norm_of(360, 40) == doctest::Approx(1).epsilon(1e-6));
  for (std::size_t i = 100; i < 300; ++i) REQUIRE(out[i] == change[i]);
  CHECK(norm_of(350, 10) == 0);
  CHECK(norm_of(400, 10) == 0);
  CHECK(within(clip, change));
  // All layers at their bound, one component each: 1/3 of the square of S in each of three.
  CHECK(within(UpdateClip(1, {{0, 1}, {1, 1}, {2, 1}}), {5, -5, 5}));
}

TEST_CASE("bounds that make no sense and layers that overlap are refused") {
  for (const double bound : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK_THROWS_AS(UpdateClip{bound}, Error);
  CHECK_THROWS_AS(UpdateClip(1, {{0, 10}, {9, 5}}), Error);
  CHECK_NOTHROW(UpdateClip(1, {{10, 5}, {0, 10}}));
  ExactSum sum(3);
  for (const double deviation : {0.0, -1.0, std::nan(""), 0x1p22 + 1})
    for (const bool discrete : {false, true})
      CHECK_THROWS_AS(add_noise(sum, {deviation, discrete}, kSource, {Purpose::client_noise, 1}), Error);
}

/// The contents of the sum, by component.
Vector content(const ExactSum& sum) {
  Vector out;
  sum.divided_by(1, out);
  return out;
}

TEST_CASE("the noisy sum has the same bits however its work is ordered; discrete noise may come before what it is added to") {
  const std::size_t size = 20000;
  const auto one = random_vector(size, 3, 5);
  const auto two = random_vector(size, 2, 6);
  const auto backwards = [](int count, function_ref<void(int)> piece) {
    for (int i = count; i > 0; --i) piece(i - 1);
  };
  for (const bool discrete : {false, true}) {
    const ClientNoise noise{{0.01}, discrete};
    const Address address{Purpose::client_noise, 4};
    ExactSum last(size);
    last.add(one, 2);
    last.add(two, 1);
    add_noise(last, noise, kSource, address);
    ExactSum first(size);
    if (discrete) add_noise(first, noise, kSource, address, backwards);
    CHECK(first.weight() == 0);
    first.add(two, 1);
    first.add(one, 2);
    if (!discrete) add_noise(first, noise, kSource, address, backwards);
    CHECK(model_hash(content(first)) == model_hash(content(last)));
    ExactSum other(size);
    other.add(one, 2);
    other.add(two, 1);
    add_noise(other, noise, kSource, {Purpose::client_noise, 5});
    CHECK(model_hash(content(other)) != model_hash(content(last)));
  }
}

TEST_CASE("noise has mean 0, the deviation asked for, and is independent from component to component") {
  const std::size_t size = 60000;
  for (const bool discrete : {false, true})
    for (const double deviation : {0x1p-39, 0.7, 5000.0}) {
      CAPTURE(deviation);
      ExactSum sum(size);
      add_noise(sum, {{deviation}, discrete}, kSource, {Purpose::client_noise, 11, discrete ? 1U : 0U});
      const Vector noise = content(sum);
      const auto n = static_cast<double>(size);
      double mean = 0;
      double squares = 0;
      double neighbours = 0;
      double rows_apart = 0;
      for (std::size_t i = 0; i < noise.size(); ++i) {
        const auto x = noise[i] / deviation;
        mean += x / n;
        squares += x * x / n;
        if (i >= 1) neighbours += x * noise[i - 1] / deviation / n;
        if (i >= 1024) rows_apart += x * noise[i - 1024] / deviation / n;
      }
      // Rounding to whole units adds a twelfth of a unit to the variance.
      const double units = deviation * ExactSum::kScale;
      const double variance = discrete ? 1 : 1 + 1 / (12 * units * units);
      CHECK(std::abs(mean) < 4 / std::sqrt(n));
      CHECK(std::abs(squares - variance) < 4 * std::sqrt(2 / n));
      CHECK(std::abs(neighbours) < 4 / std::sqrt(n));
      CHECK(std::abs(rows_apart) < 4 / std::sqrt(n));
    }
}

TEST_CASE("a component's noise depends on source and address, not on how long the vector is") {
  for (const bool discrete : {false, true}) {
    ExactSum longer(5000);
    ExactSum shorter(3000);
    add_noise(longer, {1, discrete}, kSource, {Purpose::client_noise, 2});
    add_noise(shorter, {1, discrete}, kSource, {Purpose::client_noise, 2});
    CHECK(std::ranges::equal(view(content(longer)).first(3000), view(content(shorter))));
  }
}

}  // namespace
// S = 2, a = 0.2: x = (0.6^2 + 0.8^2) / 4 = 0.25 and w = 3/4 of its range become 0.4 (0.25 - 0.5) and 0.4 (0.75 - 0.5).
TEST_CASE("the numbers released beside an update, by hand, and back") {
  const ReleasedBeside both{.square = true, .statistic = true};
  Vector update = vector_of({0.6F, 0.8F});
  both.append(update, 2, 1.5);
  REQUIRE(update.size() == 4);
  CHECK(update[2] == doctest::Approx(-0.1));
  CHECK(update[3] == doctest::Approx(0.1));
  const ReleasedBeside::Means means = both.take_off(update, 2);
  CHECK(update == vector_of({0.6F, 0.8F}));
  CHECK(means.square == doctest::Approx(0.25));
  CHECK(means.statistic == doctest::Approx(0.75));
  CHECK(both.growth() == doctest::Approx(std::sqrt(1.02)).epsilon(1e-5));
  CHECK(both.growth() > std::sqrt(1.02));

  const ReleasedBeside one{.statistic = true};
  for (const auto& [ratio, share] : {std::pair(0.0, 0.0), {2.0, 1.0}, {7.0, 1.0}, {std::nan(""), 0.5}}) {
    Vector alone = vector_of({1});
    one.append(alone, 2, ratio);
    REQUIRE(alone.size() == 2);
    CHECK(one.take_off(alone, 2).statistic == doctest::Approx(share));
  }
  CHECK(one.growth() < both.growth());
  Vector none = vector_of({1});
  const ReleasedBeside nothing;
  nothing.append(none, 2, 1);
  CHECK(none == vector_of({1}));
  // Noise may take the means out of their range: a square is at most the clip's, neither is below 0.
  Vector noisy = vector_of({0, 5, -5});
  const auto limited = both.take_off(noisy, 1);
  CHECK(limited.square == 1);
  CHECK(limited.statistic == 0);
}

TEST_CASE("an update and the numbers beside it are within the grown bound once quantized, whatever they are") {
  const ReleasedBeside both{.square = true, .statistic = true};
  for (const double bound : {1e-3, 0.7, 30.0})
    for (std::uint32_t draw = 0; draw < 300; ++draw) {
      RandomStream random(21, {.purpose = Purpose::test, .row = draw});
      Vector change(1 + random.below(40));
      for (float& value : change) value = static_cast<float>(bound * 2 * random.uniform() * random.normal());
      Vector clipped;
      UpdateClip(bound).clip(view(std::as_const(change)), clipped);
      const double ratios[] = {0, 2, 1e300, 3 * random.uniform(), std::nan("")};
      both.append(clipped, bound, ratios[draw % 5]);
      const auto squares = static_cast<double>(quantized_squares(view(std::as_const(clipped))));
      CHECK(std::sqrt(squares) <= bound * both.growth() * ExactSum::kScale);
    }
}

}  // namespace fedstride::test::client_release_test
