#include "client/outside_lots.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "client/optim/optimizer.hpp"
#include "client/optim/sgd.hpp"
#include "core/error.hpp"
#include "core/normals.hpp"
#include "dp/bounds/auto_s.hpp"
#include "dp/noise/sampling.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::outside_lots_test {
namespace {

constexpr std::uint64_t kRows = 40;
// Two tensors with a gap between them.
const std::array<ParameterRange, 2> kTensors{ParameterRange{0, 3}, ParameterRange{16, 2}};

OutsideLotsTerms lots_terms(double rate, double noise_multiplier, std::uint64_t reserved = 1000,
                            Sampling sampling = Sampling::poisson) {
  const PrivateRules rules{.sampling = sampling,
                           .sampling_rate = rate,
                           .noise = {.clip = 2, .noise_multiplier = noise_multiplier},
                           .target_epochs = 3};
  return {.plan = PrivatePlan(rules, Sgd{}, kRows),
          .source = RandomSource(std::uint64_t{7}),
          .round = 3,
          .client = 5,
          .rows = kRows,
          .first_epoch = 4,
          .epochs = 2,
          .reserved = reserved};
}

// The gradient of example i: of length (i + 1) / 10 in the first tensor, of 0.1 in the second.
struct Gradients {
  std::vector<float> first, second;
  explicit Gradients(std::span<const Row> rows) {
    for (const Row row : rows) {
      const auto length = static_cast<float>(row + 1) / 10;
      first.insert(first.end(), {0.6F * length, 0, 0.8F * length});
      second.insert(second.end(), {0, 0.1F});
    }
  }
  ExampleGradients part(std::size_t begin, std::size_t end) const {
    return {end - begin, {{0, 3, first.data() + 3 * begin}, {16, 2, second.data() + 2 * begin}}};
  }
};

Vector released(OutsideLots& lots, const Gradients& gradients, std::vector<std::size_t> bounds) {
  std::size_t next = 0;
  return lots.release([&]() -> std::optional<ExampleGradients> {
    if (next + 1 >= bounds.size()) return std::nullopt;
    ++next;
    return gradients.part(bounds[next - 1], bounds[next]);
  });
}

}  // namespace

TEST_CASE("a release is the clipped sum with noise at its address over the expected number of examples") {
  OutsideLots lots(lots_terms(0.25, 1.5), kTensors);
  const RandomSource source(std::uint64_t{7});
  std::vector<Row> all(kRows);
  for (Row i = 0; i < kRows; ++i) all[i] = i;
  std::uint32_t step = 0;
  for (; lots.next(); ++step) {
    std::vector<Row> expected;
    draw_poisson(source, {Purpose::private_sampling, 3, 5, step}, 0.25, all, expected, DrawWidth::byte);
    REQUIRE(std::ranges::equal(lots.drawn(), expected));
    const Gradients gradients(lots.drawn());
    const Vector gradient = released(lots, gradients, {0, lots.drawn().size()});
    std::array<double, 18> sum{};
    for (const Row row : expected) {
      const double length = (row + 1) / 10.0, norm = std::sqrt(length * length + 0.01), factor = std::min(1.0, 2 / norm);
      sum[0] += factor * 0.6 * length;
      sum[2] += factor * 0.8 * length;
      sum[17] += factor * 0.1;
    }
    for (const ParameterRange& tensor : kTensors) {
      std::vector<double> noise(tensor.size);
      draw_grid_noise(source, {Purpose::noise, 3, 5, step}, tensor.offset, 0, noise);
      for (std::size_t i = 0; i < tensor.size; ++i)
        CHECK(gradient[tensor.offset + i] ==
              doctest::Approx((sum[tensor.offset + i] + 1.5 * 2 * noise[i] / NoiseGrid::kStepsOfDeviation) / 10).epsilon(1e-5));
    }
    for (std::size_t gap = 3; gap < 16; ++gap) CHECK(gradient[gap] == 0);
  }
  CHECK(step == 8);  // two epochs of four lots
  CHECK_FALSE(lots.next());
}

TEST_CASE("no example counts with more than the clip bound") {
  // Negligible noise, and all examples in the lot.
  OutsideLots lots(lots_terms(1, 1e-6), kTensors);
  REQUIRE(lots.next());
  std::vector<float> huge(3 * kRows, 0), nothing(2 * kRows, 0);
  huge[0] = 1e30F;
  huge[4] = std::numeric_limits<float>::quiet_NaN();
  huge[8] = std::numeric_limits<float>::infinity();
  bool given = false;
  const Vector gradient = lots.release([&]() -> std::optional<ExampleGradients> {
    if (given) return std::nullopt;
    given = true;
    return ExampleGradients{kRows, {{0, 3, huge.data()}, {16, 2, nothing.data()}}};
  });
  CHECK(gradient[0] == doctest::Approx(2.0 / kRows).epsilon(1e-4));
  CHECK(gradient[0] * kRows <= 2 + 1e-4);
  CHECK(std::abs(gradient[1]) < 1e-6);
  CHECK(std::abs(gradient[2]) < 1e-6);
  CHECK(lots.lots().nonfinite == 2);
  CHECK(lots.lots().clipped == 1);
  CHECK(lots.examples() == kRows);
}

TEST_CASE("a lot in parts, with tensors left out, is the same lot") {
  OutsideLots whole(lots_terms(1, 1), kTensors), parts(lots_terms(1, 1), kTensors);
  REQUIRE((whole.next() && parts.next()));
  const Gradients gradients(whole.drawn());
  const Vector one = released(whole, gradients, {0, kRows});
  const Vector many = released(parts, gradients, {0, 1, 1, 17, kRows});
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i] == doctest::Approx(many[i]).epsilon(1e-5));
  OutsideLots fewer(lots_terms(1, 1e-6), kTensors);
  REQUIRE(fewer.next());
  bool given = false;
  const Vector second = fewer.release([&]() -> std::optional<ExampleGradients> {
    if (std::exchange(given, true)) return std::nullopt;
    return ExampleGradients{kRows, {{16, 2, gradients.second.data()}}};
  });
  CHECK(std::abs(second[0]) < 1e-6);
  CHECK(second[17] == doctest::Approx(0.1).epsilon(1e-4));
}

TEST_CASE("terms as bytes make the same lots") {
  for (const Sampling sampling : {Sampling::poisson, Sampling::shuffle, Sampling::without_replacement}) {
    const OutsideLotsTerms before = lots_terms(0.2, 1, 7, sampling);
    const OutsideLotsTerms after = OutsideLotsTerms::load(before.save());
    OutsideLots one(before, kTensors), other(after, kTensors);
    int count = 0;
    while (one.next()) {
      REQUIRE(other.next());
      REQUIRE(std::ranges::equal(one.drawn(), other.drawn()));
      const Gradients gradients(one.drawn());
      const std::vector<std::size_t> bounds{0, one.drawn().size()};
      CHECK(released(one, gradients, bounds) == released(other, gradients, bounds));
      ++count;
    }
    CHECK_FALSE(other.next());
    CHECK(count == 7);  // reserved; the plan has ten
  }
  const std::string bytes = lots_terms(0.2, 1).save();
  CHECK_FAILURE(OutsideLotsTerms::load(bytes.substr(0, bytes.size() - 3)), "lots");
  CHECK_FAILURE(OutsideLotsTerms::load(""), "lots");
}

TEST_CASE("terms as bytes keep what bounds gradients, with its settings") {
  OutsideLotsTerms before = lots_terms(1, 1e-6);
  before.plan = PrivatePlan(
      {.sampling_rate = 1, .noise = {.clip = 2, .noise_multiplier = 1e-6}, .clip_rule = AutoSBound({.stability = 0.5})}, Sgd{},
      kRows);
  OutsideLots after(OutsideLotsTerms::load(before.save()), kTensors);
  REQUIRE(after.next());
  std::vector<float> one(3 * kRows);
  one[0] = 0.3F;
  bool given = false;
  const Vector gradient = after.release([&]() -> std::optional<ExampleGradients> {
    if (std::exchange(given, true)) return std::nullopt;
    return ExampleGradients{kRows, {{0, 3, one.data()}}};
  });
  CHECK(gradient[0] == doctest::Approx(0.3 * 2 / 0.8 / kRows).epsilon(1e-4));
}

TEST_CASE("a client without examples has no lots") {
  OutsideLots lots({.plan = PrivatePlan(), .client = 3, .epochs = 2}, kTensors);
  CHECK_FALSE(lots.next());
  CHECK(lots.examples() == 0);
}

TEST_CASE("a lot is released once, in full, and before the next") {
  OutsideLots lots(lots_terms(1, 1), kTensors);
  const auto none = []() -> std::optional<ExampleGradients> { return std::nullopt; };
  CHECK_FAILURE(lots.release(none), "lot");
  REQUIRE(lots.next());
  CHECK_USAGE_ERROR(lots.next(), "lot", "released");
  CHECK_USAGE_ERROR(lots.release(none), "lot", "40", "0");
  CHECK_FAILURE(lots.release(none), "lot");
  REQUIRE(lots.next());
  const std::vector<Row> more(51);
  CHECK_USAGE_ERROR(released(lots, Gradients(more), {0, 30, 30, 51}), "lot", "40", "51");
}

}  // namespace fedstride::test::outside_lots_test
