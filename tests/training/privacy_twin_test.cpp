// Takes 14 s of processor time: 2,000 random settings against the exact epsilon, in 50 digits.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "dp/accountants/accountants.hpp"
#include "tests/dp/twin/settings.hpp"
#include "tests/dp/twin/twin.hpp"

namespace fedstride::test::privacy_twin_test {
namespace {

// The files: tests/dp/twin/twin.hpp is the twin, another way to the same number in 80 bits or more; settings.hpp
// draws the settings; generate.cpp wrote the twin's answers to the golden file, most of them before the twin had learnt
// to check itself by a second crossing. 319 of them were asked for again after that: two differed by more than the
// file's uncertainty (by 3e-9 and 5e-7, both too high) and were replaced, as were four others seen to be wrong (numbers
// 44, 138, 178, 766, 1039, 1767). Number 44 was still wrong: two releases under replace-one, whose delta(0) is
// 3.74094e-4 in closed form (tests/dp/accountants/tight_test.cpp), below the 3.79415e-4 that is asked for, so that epsilon is 0. A
// few of the rest may be too high by as little. Here the accountant is held against all of them, the twin is asked again for
// some, and is itself held against closed forms.
struct Golden {
  std::uint32_t number;
  double epsilon, uncertainty;
};

std::vector<Golden> golden() {
  std::ifstream file(FEDSTRIDE_SOURCE_DIR "/tests/golden/privacy_twin.csv");
  std::vector<Golden> rows;
  std::string line;
  std::getline(file, line);
  char comma = 0;
  for (Golden row{}; file >> row.number >> comma >> row.epsilon >> comma >> row.uncertainty;) rows.push_back(row);
  return rows;
}

template <class Real>
typename test::Twin<Real>::Setting setting_of(const Releases& releases, bool forward = true) {
  return {releases.neighbours, forward, releases.sampling == Sampling::full ? 1 : releases.rate, releases.noise_multiplier,
          static_cast<double>(releases.count)};
}

double gaussian(double mu, double epsilon) {
  const auto above = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
  return above(epsilon / mu - mu / 2) - std::exp(epsilon) * above(epsilon / mu + mu / 2);
}

}  // namespace

TEST_CASE("Tight is never below the exact epsilon of 2,000 random settings, and within 2e-4 of it") {
  const auto rows = golden();
  REQUIRE(rows.size() == 2000);
  int positive = 0;
  int certain = 0;  // the twin is not sure where epsilon is small against the width of a narrow peak
  for (const auto& row : rows) {
    const auto setting = test::twin_setting(row.number);
    const double value = Tight{}.epsilon(std::vector{setting.releases}, setting.delta).value;
    CAPTURE(row.number);
    CAPTURE(value);
    CAPTURE(row.epsilon);
    const double slack = 1e-9 * std::max(1.0, row.epsilon) + row.uncertainty;
    CHECK(value >= row.epsilon - slack);
    CHECK(value <= row.epsilon + row.uncertainty + (row.epsilon < 20 ? 2e-4 : 1e-5 * row.epsilon));
    if (value > 0) ++positive;
    if (row.uncertainty < 1e-6) ++certain;
  }
  CHECK(certain > 1900);
  CHECK(positive > 1500);
}

TEST_CASE("The twin says again what the golden file has") {
  const auto rows = golden();
  int asked = 0;
  for (std::size_t i = 3; i < rows.size() && asked < 12; i += 53) {
    const auto& row = rows[i];
    const auto setting = test::twin_setting(row.number);
    // Few draws take the twin seconds; from epsilon 0 its search does not find its way to hundreds.
    const double draws = setting.releases.rate * static_cast<double>(setting.releases.count);
    if (row.epsilon == 0 || row.epsilon > 100 || draws < 10) continue;
    ++asked;
    CAPTURE(row.number);
    double exact = 0;
    for (const bool forward : {true, false}) {
      if (!forward && setting.releases.neighbours == Neighbours::replace_one) continue;
      const auto one = setting_of<long double>(setting.releases, forward);
      if (!forward && !test::Twin<long double>::matters(one, exact, setting.delta)) continue;
      const test::Twin<long double> twin(one, row.epsilon, 1);
      exact = std::max(exact, static_cast<double>(twin.epsilon(setting.delta, row.epsilon).value));
    }
    CHECK(std::abs(exact - row.epsilon) <= 1e-9 * std::max(1.0, row.epsilon) + row.uncertainty);
  }
  CHECK(asked == 12);
}

TEST_CASE("The twin agrees with closed forms, and with itself in 50 digits") {
  for (const double mu : {0.2, 1.0, 4.0}) {
    const Releases releases{.sampling = Sampling::full, .noise_multiplier = 3 / mu, .count = 9};
    const test::Twin<long double> twin(setting_of<long double>(releases), mu * mu / 2 + 2 * mu, 1);
    const double at = mu * mu / 2 + 2 * mu;
    CHECK(static_cast<double>(std::exp(twin.log_delta(at).value)) == doctest::Approx(gaussian(mu, at)).epsilon(1e-11));
  }
  using Wide = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>, boost::multiprecision::et_off>;
  const Releases releases{.rate = 0.05, .noise_multiplier = 3, .count = 400};
  const test::Twin<long double> twin(setting_of<long double>(releases), 1.3, 1);
  const test::Twin<Wide> wide(setting_of<Wide>(releases), 1.3, 1);
  CHECK(static_cast<double>(wide.log_delta(1.3).value) ==
        doctest::Approx(static_cast<double>(twin.log_delta(1.3).value)).epsilon(1e-14));
}

}  // namespace fedstride::test::privacy_twin_test
