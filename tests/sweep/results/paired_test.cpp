#include "sweep/results/paired.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace fedstride::test::paired_test {
namespace {

CellResult cell(const std::string& name, const std::string& seed, double accuracy) {
  CellResult result;
  result.cell.point = {{"optimizer", name}, {"seed", seed}};
  result.cell.configuration = name;
  result.status = "finished";
  result.numbers["test_accuracy"] = accuracy;
  return result;
}

// Student's two-sided p-value with four degrees of freedom, in closed form.
double with_four_degrees(double t) {
  const double square = t * t + 4;
  return 1 - t / std::sqrt(square) * (1 + 2 / square);
}

}  // namespace

TEST_CASE("the paired test is Student's on the differences") {
  // Closed forms: for two degrees of freedom p = 1 - t / sqrt(t^2 + 2), for one 1 - 2 / pi atan t.
  const std::vector<double> three{1, 2, 3}, two{1, 2};
  CHECK(paired_p(three) == doctest::Approx(1 - 2 * std::sqrt(3.0) / std::sqrt(14.0)).epsilon(1e-12));
  CHECK(paired_p(two) == doctest::Approx(1 - 2 / std::acos(-1.0) * std::atan(3.0)).epsilon(1e-12));
  CHECK(paired_p(std::vector<double>{-1, -2, -3}) == paired_p(three));
  CHECK(std::isnan(paired_p(std::vector<double>{1})));
  CHECK(std::isnan(paired_p(std::vector<double>{1, 1})));
  CHECK(paired_p(std::vector<double>{0, 0}) == 1);
}

TEST_CASE("seeds are paired by their number, whatever their order, and the best is not tested") {
  std::vector<CellResult> cells;
  const double a[] = {0.9, 0.8, 0.7, 0.6, 0.5}, b[] = {0.8, 0.6, 0.4, 0.2, 0.0};
  for (int i = 0; i < 5; ++i) cells.push_back(cell("a", std::to_string(i + 1), a[i]));
  for (int i = 4; i >= 0; --i) cells.push_back(cell("b", std::to_string(i + 1), b[i]));
  for (const char* seed : {"1", "2", "3", "4", "9"}) cells.push_back(cell("c", seed, 0.1));
  cells.push_back(cell("d", "7", 0.2));
  cells.back().status = "failed";
  const auto all = compared(by_configuration(cells), "test_accuracy", true);
  REQUIRE(all.size() == 4);
  CHECK(all[0].is_best);
  CHECK(std::isnan(all[0].p));
  CHECK(!all[1].is_best);
  CHECK(all[1].lead.n == 5);
  CHECK(all[1].lead.mean == doctest::Approx(0.3));  // 0.1, 0.2, ..., 0.5
  CHECK(all[1].p == doctest::Approx(with_four_degrees(0.3 / std::sqrt(0.025 / 5))).epsilon(1e-9));
  CHECK(all[2].lead.n == 4);  // too few for a test
  CHECK(std::isnan(all[2].p));
  CHECK(all[3].statistics.n == 0);
  CHECK(compared(by_configuration(cells), "test_accuracy", false)[2].is_best);
  // Nobody wins alone.
  cells.resize(5);
  CHECK(!compared(by_configuration(cells), "test_accuracy", true)[0].is_best);
}

TEST_CASE("Holm's correction multiplies the smallest by the number of tests and never turns the order round") {
  std::vector<CellResult> cells;
  const auto add = [&](const std::string& name, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) cells.push_back(cell(name, std::to_string(i), values[i]));
  };
  add("best", {10, 10, 10, 10, 10});
  add("b", {9, 8, 7, 6, 5});          // differences 1, 2, 3, 4, 5
  add("c", {9, 8.9, 9.1, 8.8, 9.2});  // 1, 1.1, 0.9, 1.2, 0.8
  add("d", {8, 7, 6, 5, 4});          // 2, 3, 4, 5, 6
  const auto all = compared(by_configuration(cells), "test_accuracy", true);
  const auto raw = [](double mean, double variance) { return with_four_degrees(mean / std::sqrt(variance / 5)); };
  CHECK(all[2].p == doctest::Approx(3 * raw(1, 0.025)).epsilon(1e-9));
  CHECK(all[3].p == doctest::Approx(2 * raw(4, 2.5)).epsilon(1e-9));
  CHECK(all[1].p == doctest::Approx(std::max(2 * raw(4, 2.5), raw(3, 2.5))).epsilon(1e-9));
}

}  // namespace fedstride::test::paired_test
