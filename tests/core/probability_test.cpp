#include "core/probability.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

namespace fedstride::test::probability_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("Student's probabilities are those of the closed forms for one and two degrees of freedom") {
  for (const double t : {0.0, 1e-8, 0.3, 1.0, 2.5, 40.0, 1e6}) {
    CAPTURE(t);
    CHECK(student_t_two_sided(t, 1) == doctest::Approx(std::atan2(1, t) * 2 / std::acos(-1)).epsilon(1e-13));
    const double root = std::sqrt(2 + t * t);
    CHECK(student_t_two_sided(t, 2) == doctest::Approx(2 / (root * (root + t))).epsilon(1e-13));
  }
}

TEST_CASE("Student's probabilities end where they must") {
  CHECK(student_t_two_sided(0, 7) == 1);
  CHECK(student_t_two_sided(kInfinity, 7) == 0);
  CHECK(student_t_two_sided(1e200, 7) == 0);  // its square is no double
  CHECK(std::isnan(student_t_two_sided(std::numeric_limits<double>::quiet_NaN(), 7)));
}

TEST_CASE("Student's quantiles are the closed forms' and the printed table's") {
  CHECK(student_t_quantile(0.05, 1) == doctest::Approx(std::tan(0.475 * std::acos(-1))).epsilon(1e-13));
  CHECK(student_t_quantile(0.05, 2) == doctest::Approx(std::sqrt(2 * 0.9025 / 0.0975)).epsilon(1e-13));
  CHECK(student_t_quantile(0.5, 1) == doctest::Approx(1).epsilon(1e-14));
  const double printed[][2] = {{4, 2.776}, {10, 2.228}, {30, 2.042}, {1000, 1.962}};  // 5 %, two-sided
  for (const auto& [degrees, t] : printed) {
    CAPTURE(degrees);
    CHECK(std::abs(student_t_quantile(0.05, degrees) - t) <= 0.0005);
  }
}

}  // namespace fedstride::test::probability_test
