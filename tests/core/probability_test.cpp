#include "core/probability.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

namespace fedstride::test::probability_test {

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
