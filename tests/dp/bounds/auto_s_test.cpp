#include "dp/bounds/auto_s.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "dp/noise/client_release.hpp"
#include "dp/noise/clipped_sum.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::auto_s_test {
namespace {

/// Examples with gradients (norm, 0).
struct Lengths {
  std::vector<double> lengths;
  bool done = false;

  bool next() { return !std::exchange(done, true) && !lengths.empty(); }
  std::span<const double> norms() const { return lengths; }
  void weighted_sum(std::span<const float> factors, SumSink sink) const {
    std::vector<double> sum(2);
    for (std::size_t i = 0; i < factors.size(); ++i)
      if (factors[i] > 0) sum[0] += static_cast<double>(factors[i]) * lengths[i];
    sink(0, sum);
  }
};

float sum_of(const std::vector<double>& lengths, const AutoSBound& bound, double clip, LotReport* counted = nullptr) {
  std::vector<GradientStretch> stretches;
  append_stretches(stretches, 0, 2, false);
  ClippedSum sum(stretches);
  Meter meter(1);
  LotReport report;
  float first = 0;
  Lengths lot{lengths};
  const ReleaseRules rules{.clip = clip,
                           .noise_multiplier = 1e-6,
                           .source = RandomSource(std::uint64_t{1}),
                           .address = {Purpose::noise, 1},
                           .bound = &bound};
  sum.release(
      lot, rules, meter,
      [&](std::size_t, std::span<const float> values) {
        first = values[0];
        return 0.0;
      },
      serially, report);
  if (counted != nullptr) *counted = report;
  return first;
}

}  // namespace

TEST_CASE("the factor is C / (|g| + gamma)") {
  CHECK(AutoSBound().stability == 0.01);
  CHECK(AutoSBound().factor(0.99, 2) == doctest::Approx(2));
  CHECK(AutoSBound().factor(3.99, 2) == doctest::Approx(0.5));
  CHECK(AutoSBound({.stability = 0.5}).factor(0.5, 3) == doctest::Approx(3));
  CHECK_THROWS_AS(AutoSBound({.stability = 0}).check(), Error);
}

TEST_CASE("a lot, by hand: norms 0.03, 0.99 and 3.99 become 1.5, 1.98 and 1.995 at C = 2; 0 and what is not finite add nothing") {
  CHECK(sum_of({0.03}, {}, 2) == doctest::Approx(1.5));
  CHECK(sum_of({0.99}, {}, 2) == doctest::Approx(1.98));
  CHECK(sum_of({3.99}, {}, 2) == doctest::Approx(1.995));
  LotReport report;
  CHECK(sum_of({0.03, 0, 3.99, std::numeric_limits<double>::infinity()}, {}, 2, &report) == doctest::Approx(3.495));
  CHECK(report.nonfinite == 1);
  CHECK(report.clipped == 1);
  CHECK(sum_of({0.5}, {{.stability = 0.25}}, 3) == doctest::Approx(2));
}

TEST_CASE("no example adds more than C, whatever its norm and gamma") {
  for (const double stability : {1e-300, 1e-30, 1e-2, 1e9})
    for (const double norm : {1e-40, 1e-30, 1e-6, 1.0, 1e6, 1e30})
      for (const double clip : {1e-6, 1.0, 1e6}) {
        CAPTURE(stability);
        CAPTURE(norm);
        CAPTURE(clip);
        CHECK(sum_of({norm}, {{.stability = stability}}, clip) <= clip);
      }
}

TEST_CASE("an update, by hand: (0.3, 0.4) becomes 2 / 0.51 of itself, each of two tensors has its share of C; 0 stays 0") {
  Vector out;
  CHECK(UpdateClip(2, {}, AutoSBound{}).clip(std::vector<float>{0.3F, 0.4F}, out) == doctest::Approx(0.5));
  CHECK(out[0] == doctest::Approx(0.3 * 2 / 0.51).epsilon(1e-6));
  CHECK(out[1] == doctest::Approx(0.4 * 2 / 0.51).epsilon(1e-6));
  UpdateClip(2, {{0, 1}, {1, 1}}, AutoSBound{}).clip(std::vector<float>{0.09F, -7.99F}, out);
  CHECK(out[0] == doctest::Approx(std::sqrt(2.0) * 0.9).epsilon(1e-6));
  CHECK(out[1] == doctest::Approx(-std::sqrt(2.0) * 7.99 / 8).epsilon(1e-6));
  UpdateClip(2, {}, AutoSBound{}).clip(std::vector<float>{0, 0}, out);
  CHECK(out == vector_of({0, 0}));
}

}  // namespace fedstride::test::auto_s_test
