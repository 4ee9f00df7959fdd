#include <doctest/doctest.h>

#include "dp/accountants/calibrate.hpp"
#include "dp/noise/noise_plan.hpp"
#include "tests/dp/longest_prefix.hpp"

namespace fedstride::test::yu_stop_test {
namespace {

constexpr double kEpsilon = 2, kDelta = 1e-5, kRate = 0.01, kClip = 12;
constexpr std::uint64_t kTarget = 1000;  // ten epochs

Spending spent(double noise_multiplier, ClipSchedule clip_schedule, std::uint64_t steps) {
  const NoisePlan plan({.clip = kClip, .noise_multiplier = noise_multiplier, .clip_schedule = clip_schedule, .target = kTarget});
  return plan.spending(0, steps, {.sampling = Sampling::poisson, .rate = kRate});
}

}  // namespace

// Yu et al., Algorithm 1: the noise is the smallest multiple of 0.01 with which a constant clip lasts ten epochs; then
// each schedule goes on until the next step would pass the budget. Accountant: moments (orders to 33, classical).
TEST_CASE("a falling clip at constant noise lasts about five times as long as a constant one") {
  const Accountant moments = make_part<Accountant>("accountant", "moments");
  const double noise = calibrate(
      moments, [](double multiplier) { return spent(multiplier, ClipSchedule::constant, kTarget); }, kEpsilon, kDelta, 0.01);
  CHECK(noise == doctest::Approx(1.13).epsilon(1e-9));
  const auto steps = [&](ClipSchedule schedule) {
    return longest_prefix(moments, {}, spent(noise, schedule, 20000), kEpsilon, kDelta);
  };
  const auto constant = steps(ClipSchedule::constant);
  const auto hyperbolic = steps(ClipSchedule::hyperbolic);
  const auto linear = steps(ClipSchedule::linear);
  CHECK(constant == 1022);
  CHECK(hyperbolic == 5532);
  CHECK(linear == 4966);
  CHECK(meets(moments, spent(noise, ClipSchedule::linear, linear), kEpsilon, kDelta));
  CHECK_FALSE(meets(moments, spent(noise, ClipSchedule::linear, linear + 1), kEpsilon, kDelta));
}

}  // namespace fedstride::test::yu_stop_test
