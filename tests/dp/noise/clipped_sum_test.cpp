#include "dp/noise/clipped_sum.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/refusal.hpp"

namespace fedstride::test::clipped_sum_test {
namespace {

using Rows = std::vector<std::vector<float>>;

/// Gradients that are given, in parts of given sizes.
struct GivenLot {
  Rows rows;
  std::size_t part = 1000;
  std::size_t first = 0;
  std::size_t last = 0;
  std::vector<double> lengths = {};

  bool next() {
    first = last;
    last = std::min(first + part, rows.size());
    lengths.clear();
    for (std::size_t i = first; i < last; ++i) {
      double squares = 0;
      for (const float value : rows[i]) squares += static_cast<double>(value) * value;
      lengths.push_back(std::sqrt(squares));
    }
    return first < last;
  }
  std::span<const double> norms() const { return lengths; }
  void weighted_sum(std::span<const float> factors, SumSink sink) {
    std::vector<double> sum(rows[0].size());
    for (std::size_t i = 0; i < factors.size(); ++i)
      for (std::size_t j = 0; j < sum.size() && factors[i] != 0; ++j)
        sum[j] += static_cast<double>(factors[i]) * rows[first + i][j];
    const std::size_t half = sum.size() / 2;
    sink(0, std::span(sum).first(half));
    sink(half, std::span(sum).subspan(half));
  }
};

struct Released {
  std::vector<double> gradient;
  LotReport report;
};

std::vector<GradientStretch> whole(std::size_t size) {
  std::vector<GradientStretch> stretches;
  append_stretches(stretches, 0, size, false);
  return stretches;
}

Released release(GivenLot lot, std::size_t size, double clip, double noise, double denominator = 1, std::uint32_t round = 1) {
  ClippedSum sum(whole(size));
  Meter meter(1);
  Released result;
  result.gradient.resize(size);
  const auto sink = [&](std::size_t offset, std::span<const float> stretch) {
    std::copy(stretch.begin(), stretch.end(), result.gradient.begin() + static_cast<std::ptrdiff_t>(offset));
    return 0.0;
  };
  sum.release(lot, {clip, noise, denominator, 10, RandomSource(std::uint64_t{7}), {Purpose::noise, round}}, meter, sink, serially,
              result.report);
  return result;
}

constexpr double kNoNoise = 1e-6;

}  // namespace

TEST_CASE("the report has the norms before clipping, without those that are not finite") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const LotReport report = release({{{3, 4}, {nan, 1}, {0.3F, 0.4F}}}, 2, 2, kNoNoise).report;
  CHECK(report.norms == doctest::Approx(5.5));
  CHECK(report.clipped == 1);
  CHECK(report.nonfinite == 1);
}

TEST_CASE("long gradients are scaled to the clip bound, short ones stand, and the sum is divided by the constant") {
  const Released released = release({{{3, 4}, {0.3F, 0.4F}, {-6, 8}}}, 2, 2, kNoNoise, 4);
  CHECK(released.gradient[0] == doctest::Approx((1.2 + 0.3 - 1.2) / 4));
  CHECK(released.gradient[1] == doctest::Approx((1.6 + 0.4 + 1.6) / 4));
  CHECK(released.report.examples == 3);
  CHECK(released.report.clipped == 2);
}

TEST_CASE("a count goes with the sum: measured before clipping, of finite gradients, both at the cost of the multiplier") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto counted = [](GivenLot lot, double noise, double count_noise, std::uint32_t round = 1) {
    const std::size_t size = 2;
    ClippedSum sum(whole(size));
    Meter meter(1);
    Released result{std::vector<double>(size), {}};
    const auto sink = [&](std::size_t offset, std::span<const float> stretch) {
      std::copy(stretch.begin(), stretch.end(), result.gradient.begin() + static_cast<std::ptrdiff_t>(offset));
      return 0.0;
    };
    sum.release(lot, {2, noise, 1, 10, RandomSource(std::uint64_t{7}), {Purpose::noise, round}, count_noise}, meter, sink,
                serially, result.report);
    CHECK(meter.runs() == std::vector<ReleaseRun>{{noise, 2, 1}});
    return result;
  };
  // At bound 2: within, within, beyond, beyond, beyond, not finite; also if computed in parts.
  const Rows rows{{1, 0}, {0, 2}, {3, 4}, {-6, 8}, {0, 3}, {nan, 1}};
  CHECK(counted({rows}, 1e-6, 1e-5).report.within == doctest::Approx(-0.5).epsilon(1e-3));
  CHECK(counted({rows, 2}, 1e-6, 1e-5).report.within == doctest::Approx(-0.5).epsilon(1e-3));
  CHECK(release({rows}, 2, 2, 1).report.within == 0);
  // Multiplier 1 with lots of 100: deviation 5 on the count, 1.0050378 bounds on the vector, at the draws of a release without a count.
  const Released with = counted({{}}, 1, 5), without = release({{}}, 2, 2, 1);
  for (std::size_t i = 0; i < 2; ++i) CHECK(with.gradient[i] / without.gradient[i] == doctest::Approx(1.0050378).epsilon(1e-6));
  // What one example moves, in deviations: 1 / z at most, reached by one at the bound.
  for (const double z : {0.5, 1.0, 4.0})
    for (const double deviation : {z, 5.0}) {
      const Released none = counted({{}}, z, deviation), one = counted({{{0, 9}}}, z, deviation);
      const double vector = without.gradient[1] * z / none.gradient[1] * (one.gradient[1] - none.gradient[1]) / (2 * z);
      const double bit = (one.report.within - none.report.within) / deviation;
      CHECK(std::hypot(vector, bit) == doctest::Approx(1 / z).epsilon(1e-5));
    }
  double sum = 0, squares = 0;
  for (std::uint32_t round = 1; round <= 2000; ++round) {
    const double noise = counted({{}}, 1, 5, round).report.within;
    sum += noise, squares += noise * noise;
  }
  CHECK(std::abs(sum / 2000) < 4 * 5 / std::sqrt(2000.0));
  CHECK(std::sqrt(squares / 2000) == doctest::Approx(5).epsilon(0.06));
}

TEST_CASE("a lot computed in parts gives what it gives at once") {
  Rows rows;
  for (int i = 0; i < 7; ++i) rows.push_back({static_cast<float>(i), 1, -1, 0.5F});
  const auto at_once = release({rows}, 4, 1.5, 1).gradient;
  for (const std::size_t part : {1, 2, 3, 6}) {
    const auto in_parts = release({rows, part}, 4, 1.5, 1).gradient;
    for (std::size_t j = 0; j < 4; ++j) CHECK(in_parts[j] == doctest::Approx(at_once[j]).epsilon(1e-6));
  }
}

TEST_CASE("an empty lot is released as noise alone") {
  const Released released = release({{}}, 5000, 3, 2, 10);
  CHECK(released.report.examples == 0);
  double squares = 0;
  for (const double value : released.gradient) squares += value * value;
  CHECK(std::sqrt(squares / 5000) == doctest::Approx(0.6).epsilon(0.05));
}

TEST_CASE("an example whose gradient is not finite contributes nothing and is counted; the others are as without it") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const auto alone = release({{{1, 2}}}, 2, 1, 1);
  const auto among = release({{{nan, 0}, {1, 2}, {inf, 1}}}, 2, 1, 1);
  CHECK(among.gradient == alone.gradient);
  CHECK(among.report.nonfinite == 2);
}

// Measured on neighbouring data sets: with the same noise the difference is the one record's contribution.
TEST_CASE("one record more or less moves the sum by at most the clip bound, one replaced by at most twice that") {
  RandomStream random(3, {Purpose::test});
  for (int trial = 0; trial < 300; ++trial) {
    const double scale = std::exp(8 * random.normal());
    Rows rows(5, std::vector<float>(8));
    for (auto& row : rows)
      for (float& value : row) value = static_cast<float>(scale * random.normal());
    const double clip = 0.5;
    const auto all = release({rows}, 8, clip, 1).gradient;
    const auto without = release({{rows.begin(), rows.end() - 1}}, 8, clip, 1).gradient;
    Rows replaced = rows;
    for (float& value : replaced[4]) value = -1e3F * value;
    const auto other = release({replaced}, 8, clip, 1).gradient;
    double one = 0, two = 0;
    for (std::size_t j = 0; j < 8; ++j) {
      one += (all[j] - without[j]) * (all[j] - without[j]);
      two += (all[j] - other[j]) * (all[j] - other[j]);
    }
    CHECK(std::sqrt(one) <= clip * (1 + 1e-5));  // the sums themselves are rounded to float
    CHECK(std::sqrt(two) <= 2 * clip * (1 + 1e-5));
  }
}

TEST_CASE("the noise has covariance (clip x multiplier)^2 I on the sum") {
  constexpr std::size_t kSize = 6;
  constexpr int kRounds = 20000;
  double products[kSize][kSize] = {};
  double sums[kSize] = {};
  for (int round = 1; round <= kRounds; ++round) {
    const auto noise = release({{}}, kSize, 2, 1.5, 1, static_cast<std::uint32_t>(round)).gradient;
    for (std::size_t i = 0; i < kSize; ++i) {
      sums[i] += noise[i];
      for (std::size_t j = 0; j < kSize; ++j) products[i][j] += noise[i] * noise[j];
    }
  }
  // Standard errors: 9 sqrt(2 / n) = 0.09 on the diagonal, 9 / sqrt(n) = 0.064 off it, 3 / sqrt(n) = 0.021 of a mean.
  for (std::size_t i = 0; i < kSize; ++i) {
    CHECK(std::abs(sums[i] / kRounds) < 5 * 0.0212);
    for (std::size_t j = 0; j < kSize; ++j)
      CHECK(std::abs(products[i][j] / kRounds - (i == j ? 9 : 0)) < (i == j ? 5 * 0.09 : 5 * 0.0637));
  }
}

TEST_CASE("frozen stretches are reported as zeros, without noise") {
  std::vector<GradientStretch> stretches;
  append_stretches(stretches, 0, 5000, true);
  append_stretches(stretches, 5008, 16, false);
  CHECK(stretches.size() == 4);
  ClippedSum sum(stretches);
  Meter meter(1);
  LotReport report;
  std::size_t reported = 0;
  GivenLot empty{{}};
  const double returned = sum.release(
      empty, {1, 1, 1, 10, RandomSource(std::uint64_t{7}), {Purpose::noise, 1}}, meter,
      [&](std::size_t offset, std::span<const float> stretch) {
        reported += stretch.size();
        for (const float value : stretch) CHECK((value == 0) == (offset < 5008));
        return static_cast<double>(stretch.size());
      },
      serially, report);
  CHECK(reported == 5016);
  CHECK(returned == 5016);
}

TEST_CASE("every release is charged before its noise is drawn, and none beyond the reservation") {
  ClippedSum sum(whole(4));
  Meter meter(2);
  LotReport report;
  int handed_on = 0;
  const auto release_at = [&](std::uint32_t step, double multiplier) {
    GivenLot lot{{{1, 1, 1, 1}}};
    sum.release(
        lot, {1, multiplier, 1, 10, RandomSource(std::uint64_t{7}), {.purpose = Purpose::noise, .round = 1, .step = step}}, meter,
        [&](std::size_t, std::span<const float>) { return static_cast<double>(++handed_on); }, serially, report);
  };
  release_at(0, 1);
  CHECK_FAILURE(release_at(0, 1), "step 0");
  release_at(4, 2);
  CHECK_FAILURE(release_at(5, 2), "step 5", "ledger");
  CHECK(handed_on == 2);
  REQUIRE(meter.runs().size() == 2);
  CHECK(meter.runs()[0] == ReleaseRun{1, 1, 1});
  CHECK(meter.runs()[1] == ReleaseRun{2, 1, 1});
}

TEST_CASE("the same address gives the same noise, whoever helps and however the work is cut") {
  const auto backwards = [](int count, function_ref<void(int)> piece) {
    for (int i = count; i-- > 0;) piece(i);
  };
  std::vector<double> first(40000), second(40000);
  for (auto* out : {&first, &second}) {
    ClippedSum sum(whole(40000));
    Meter meter(1);
    LotReport report;
    GivenLot lot{{}};
    const auto sink = [&](std::size_t offset, std::span<const float> stretch) {
      std::copy(stretch.begin(), stretch.end(), out->begin() + static_cast<std::ptrdiff_t>(offset));
      return 0.0;
    };
    const ReleaseRules rules{1, 1, 1, 10, RandomSource(std::uint64_t{7}), {Purpose::noise, 1}};
    if (out == &first)
      sum.release(lot, rules, meter, sink, serially, report);
    else
      sum.release(lot, rules, meter, sink, backwards, report);
  }
  CHECK(first == second);
}

}  // namespace fedstride::test::clipped_sum_test
