#include "dp/noise/noise_plan.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "dp/accountants/spending.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::noise_plan_test {
namespace {

NoisePlan plan(ClipSchedule clip_schedule, std::uint64_t target) {
  return NoisePlan({.clip = 12, .noise_multiplier = 4, .clip_schedule = clip_schedule, .target = target});
}

TEST_CASE("without schedules every release is alike, and a long run of them costs nothing") {
  const NoisePlan constant = plan(ClipSchedule::constant, 10);
  const auto runs = constant.runs(3, 1'000'000'000'000);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0] == ReleaseRun{.noise_multiplier = 4, .clip = 12, .count = 1'000'000'000'000});
  CHECK(constant.runs(5, 0).empty());
}

TEST_CASE("the clip schedules of amended DP-SGD take the values worked out by hand and keep the noise where it is") {
  struct Row {
    ClipSchedule schedule;
    std::uint64_t t;  // as in the paper, from 1
    double clip;
  };
  using enum ClipSchedule;
  for (const Row& row :
       {Row{hyperbolic, 1, 12 / 1.001}, Row{hyperbolic, 500, 8}, Row{hyperbolic, 1000, 6}, Row{hyperbolic, 5000, 6},
        Row{linear, 1, 12 * 0.9995}, Row{linear, 500, 9}, Row{linear, 1000, 6}, Row{linear, 1001, 6}, Row{linear_1000, 1, 11.988},
        Row{linear_1000, 250, 9}, Row{linear_1000, 500, 6}, Row{linear_1000, 501, 6}, Row{factor_1000, 1, 11.988},
        Row{factor_1000, 2, 12 * 0.998001}, Row{factor_1000, 692, 12 * std::pow(0.999, 692)}, Row{factor_1000, 693, 6}}) {
    CAPTURE(choice_name(row.schedule));
    CAPTURE(row.t);
    const NoiseStep step = plan(row.schedule, 1000).at(row.t - 1);
    CHECK(step.clip == doctest::Approx(row.clip).epsilon(1e-12));
    CHECK(step.clip * step.noise_multiplier == doctest::Approx(48).epsilon(1e-12));
  }
}

TEST_CASE("runs are what at() says, release by release, wherever they begin") {
  for (const ClipSchedule schedule : {ClipSchedule::constant, ClipSchedule::hyperbolic, ClipSchedule::linear,
                                      ClipSchedule::linear_1000, ClipSchedule::factor_1000})
    for (const std::uint64_t first : {0, 3, 495, 691, 2000}) {
      const NoisePlan clipped = plan(schedule, 20);
      std::uint64_t t = first;
      for (const ReleaseRun& run : clipped.runs(first, 30))
        for (std::uint64_t i = 0; i < run.count; ++i, ++t) {
          CHECK(clipped.at(t).clip == run.clip);
          CHECK(clipped.at(t).noise_multiplier == run.noise_multiplier);
        }
      CHECK(t == first + 30);
    }
}

TEST_CASE("dynamic noise spends the zCDP budget of static noise, the least of it at the start") {
  for (const double momentum : {0.0, 0.5, 0.9}) {
    const std::uint64_t target = 60;
    const NoisePlan dynamic({.noise_multiplier = 3,
                             .noise_schedule = momentum == 0 ? NoiseSchedule::dynamic : NoiseSchedule::dynamic_momentum,
                             .target = target,
                             .gamma = 0.95,
                             .momentum = momentum});
    double budget = 0;
    for (std::uint64_t t = 0; t < target; ++t) budget += std::pow(dynamic.at(t).noise_multiplier, -2);
    CHECK(budget == doctest::Approx(60 / 9.0).epsilon(1e-12));
    CHECK(dynamic.at(0).noise_multiplier > 3);
    CHECK(dynamic.at(target + 100).noise_multiplier == dynamic.at(target - 1).noise_multiplier);
    CHECK(dynamic.runs(target, 1000).size() == 1);
  }
}

TEST_CASE("dynamic noise at T 100, gamma 0.99, R 0.5 is the closed form of the reference cases") {
  const NoisePlan dynamic(
      {.noise_multiplier = std::sqrt(200.0), .noise_schedule = NoiseSchedule::dynamic, .target = 100, .gamma = 0.99});
  CHECK(dynamic.at(0).noise_multiplier == doctest::Approx(16.099382789407485).epsilon(1e-9));
  CHECK(dynamic.at(99).noise_multiplier == doctest::Approx(12.553947058944846).epsilon(1e-9));
}

TEST_CASE("rules out of range are refused by name") {
  const auto plan_of = [](const NoisePlanRules& rules) { return NoisePlan(rules); };
  using enum NoiseSchedule;
  CHECK_USAGE_ERROR(plan_of({.clip = 0}), "clip", "0");
  CHECK_USAGE_ERROR(plan_of({.noise_multiplier = -1}), "noise-multiplier", " -1");
  CHECK_USAGE_ERROR(plan_of({.noise_multiplier = NAN}), "noise-multiplier", "nan");
  CHECK_USAGE_ERROR(plan_of({.target = 0}), "releases", "0");
  CHECK_USAGE_ERROR(plan_of({.noise_schedule = dynamic, .target = 5, .gamma = 0}), "gamma", "0");
  CHECK_USAGE_ERROR(plan_of({.noise_schedule = dynamic_momentum, .target = 5, .gamma = 0.9, .momentum = 1}), "momentum", "1");
  CHECK_USAGE_ERROR(plan_of({.noise_schedule = dynamic, .target = 1000, .gamma = 0.5}), "gamma", "0.5", "1000", "1e6");
}

TEST_CASE("an unknown schedule is refused with the valid names") {
  CHECK_USAGE_ERROR(make_choice<ClipSchedule>("clip-schedule", "hyperbolc"), "clip-schedule", "'hyperbolc'", "constant",
                    "hyperbolic", "linear", "linear-1000", "factor-1000");
  CHECK_USAGE_ERROR(make_choice<NoiseSchedule>("noise-schedule", "static"), "noise-schedule", "'static'", "constant", "dynamic",
                    "dynamic-momentum");
}

TEST_CASE("releases that are alike are counted together, others are not") {
  Spending spending;
  merge(spending, {.rate = 0.1, .noise_multiplier = 2, .count = 3});
  merge(spending, {.rate = 0.1, .noise_multiplier = 3, .count = 1});
  merge(spending, {.rate = 0.1, .noise_multiplier = 2, .count = 4});
  merge(spending, {.rate = 0.2, .noise_multiplier = 2, .count = 5});
  merge(spending, {.rate = 0.2, .noise_multiplier = 2, .count = 0});
  REQUIRE(spending.size() == 3);
  CHECK(spending[0].count == 7);
  CHECK(spending[1].count == 1);
  CHECK(spending[2].count == 5);
}

TEST_CASE("a record in one shuffled lot of each pass is charged for the lots with the least noise") {
  const ReleaseRun runs[] = {{5, 1, 10}, {3, 1, 2}, {4, 1, 10}};
  const Spending spending = exposure(runs, {.sampling = Sampling::shuffle, .rate = 0.1, .passes = 3});
  REQUIRE(spending.size() == 2);
  CHECK(spending[0].noise_multiplier == 3);
  CHECK(spending[0].passes == 2);
  CHECK(spending[1].noise_multiplier == 4);
  CHECK(spending[1].passes == 1);
  const Spending papers = as_in_papers(runs, {.sampling = Sampling::shuffle, .rate = 0.1, .passes = 3});
  REQUIRE(papers.size() == 3);
  CHECK(papers[0].sampling == Sampling::poisson);
  CHECK(papers[0].count == 10);
}

}  // namespace
}  // namespace fedstride::test::noise_plan_test
