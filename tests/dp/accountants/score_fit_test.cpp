#include "dp/accountants/score_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "dp/accountants/one_run_audit.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::score_fit_test {
namespace {

// Canaries in, in the first half, and out.
ScoreFit fit_of(RandomStream& random, double deviation, int scores, double claimed = 1) {
  ScoreFit fit;
  for (int i = 0; i < scores; ++i) {
    const double x = i < scores / 2 ? 1 / claimed : 0;
    fit.add(x, x + deviation * random.normal());
  }
  return fit;
}

}  // namespace

TEST_CASE("fits at 99 % accuse at most 2 of 200 honest runs, and see halved noise in 19 of 20") {
  for (const int scores : {20, 600}) {
    int accused = 0, by_groups = 0;
    for (std::uint32_t run = 0; run < 200; ++run) {
      RandomStream random(1, {.purpose = Purpose::test, .round = run, .row = static_cast<std::uint32_t>(scores)});
      accused += fit_of(random, 1, scores).least_ratio(0.01) > 1 ? 1 : 0;
      std::vector<double> in, out;
      for (int i = 0; i < scores / 2; ++i) in.push_back(0.5 + random.normal()), out.push_back(random.normal());
      by_groups += fitted_audit(in, out, 1e-5, 0.01).least_mu > 0.5 ? 1 : 0;
    }
    CHECK(accused <= 2);
    CHECK(by_groups <= 2);
  }
  int seen = 0;
  for (std::uint32_t run = 0; run < 20; ++run) {
    RandomStream random(2, {.purpose = Purpose::test, .round = run});
    seen += fit_of(random, 0.5, 300).least_ratio(0.01) > 1 ? 1 : 0;
  }
  CHECK(seen >= 19);
}

// Student's t and chi-squared quantiles from tables: t of 9 degrees at 0.005 is 3.24984, chi-squared 1.734933.
TEST_CASE("a fit's lower end is that of the tables") {
  ScoreFit fit;
  for (const double score : {9.0, 11.0, 9.0, 11.0, 10.0, 10.0, 9.5, 10.5, 9.0, 11.0}) fit.add(1, score);
  const double deviation = std::sqrt(6.5 / 9);
  CHECK(std::abs(fit.ratio() - 10 / deviation) < 1e-12);
  const double mean = 10 / deviation - 3.249836 / std::sqrt(10);
  CHECK(std::abs(fit.least_ratio(0.01) - mean * std::sqrt(1.734933 / 9)) < 1e-5);
  CHECK(ScoreFit().least_ratio(0.01) == 0);
  CHECK_USAGE_ERROR(fit.least_ratio(1), "significance is 1", "between 0 and 1");
}

// 1 - (1 - p)^n <= significance, p^n, and in between the binomial tail.
TEST_CASE("the least probability of hits is Clopper's and Pearson's") {
  CHECK(least_probability(0, 10, 0.05) == 0);
  CHECK(std::abs(least_probability(1, 10, 0.05) - (1 - std::pow(0.95, 0.1))) < 1e-12);
  CHECK(std::abs(least_probability(10, 10, 0.05) - std::pow(0.05, 0.1)) < 1e-12);
  CHECK(std::abs(least_probability(5, 10, 0.025) - 0.187086) < 1e-6);  // the textbook's interval
  CHECK_USAGE_ERROR(least_probability(3, 2, 0.05), "3 hits in 2 trials");
}

}  // namespace fedstride::test::score_fit_test
