#include <doctest/doctest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>

#include "core/random.hpp"
#include "dp/accountants/rdp_orders.hpp"
#include "dp/accountants/sampled_rdp.hpp"

namespace fedstride::test::rdp_orders_test {
namespace {

double relative_error(double value, double expected) { return std::abs(value / expected - 1); }

double poisson(double rate, double sigma, double order, Neighbours neighbours = Neighbours::add_remove) {
  return poisson_rdp(rate, sigma, neighbours, {&order, 1}).front();
}

struct Known {
  double rate;
  double sigma;
  double order;
  double divergence;
};

/// The binomial closed form in 50 digits, summed with its k = 0 and k = 1, whose sum the fast path takes apart.
double in_fifty_digits(double rate, double sigma, int order) {
  using Real = boost::multiprecision::cpp_bin_float_50;
  const Real q = rate;
  const Real v = 1 / (2 * Real(sigma) * Real(sigma));
  Real term = pow(1 - q, order);  // C(a, k) q^k (1-q)^(a-k)
  Real sum = 0;
  for (int k = 0; k <= order; ++k) {
    sum += term * exp(v * k * (k - 1));
    term *= q / (1 - q) * (order - k) / (k + 1);
  }
  return static_cast<double>(log(sum) / (order - 1));
}

}  // namespace

TEST_CASE("Whole orders are those of the binomial sum to 40 digits") {
  const Known kKnown[] = {
      {0.01, 4, 2, 6.44942509419921e-06},     {0.01, 4, 8, 2.5899123012404283e-05}, {0.01, 4, 64, 0.0002152091616184214},
      {0.004, 1, 3, 4.1682808504219844e-05},  {0.004, 1, 16, 2.110523012148051},    {0.01, 1.1, 32, 8.469416433675926},
      {0.001, 0.6, 64, 81.87148670071656},    {0.2, 8, 32, 0.01091918970744661},    {1e-6, 10, 2, 1.0050167084168007e-14},
      {0.001, 20, 32, 4.005304894655675e-08},
  };
  for (const auto& [rate, sigma, order, divergence] : kKnown)
    CHECK(relative_error(poisson(rate, sigma, order), divergence) < 1e-12);
}

TEST_CASE("Fractional orders are those of a quadrature in 40 digits") {
  const Known kKnown[] = {
      {0.01, 4, 2.5, 8.064409758496034e-06},     {0.004, 1, 1.1, 1.4979789992566782e-05},
      {0.004, 1, 10.9, 0.00040030350262690035},  {0.01, 1.1, 1.5, 9.55452857187483e-05},
      {0.001, 0.6, 2.5, 1.9577919629515262e-05}, {0.2, 8, 1.5, 0.00047168743380026355},
      {0.5, 1, 1.1, 0.156130475685493},          {1e-8, 0.2, 1.1, 3.403761493060824e-09},
      {0.3, 0.2, 5.5, 67.27847768360163},        {1e-8, 1000, 3.3, 1.650000825000296e-22},
      {0.5, 30, 100.5, 0.01435700873363767},
  };
  for (const auto& [rate, sigma, order, divergence] : kKnown)
    CHECK(relative_error(poisson(rate, sigma, order), divergence) < 1e-10);
}

TEST_CASE("Poisson sampling under replace-one has the divergence of its own pair") {
  const Known kKnown[] = {
      // quadrature of the pair in 40 digits
      {0.01, 4, 2.5, 3.124984315583822e-5}, {0.5, 1, 1.1, 0.4438136255686923},       {0.9, 0.5, 3.5, 9.155079950083377},
      {1e-6, 10, 2, 4.00006662659669e-14},  {0.001, 0.4, 2.5, 0.002936122049494426}, {0.02, 2, 63, 3.920091792442168},
      {0.99, 2, 10.5, 4.530837123103267},
  };
  for (const auto& [rate, sigma, order, divergence] : kKnown)
    CHECK(relative_error(poisson(rate, sigma, order, Neighbours::replace_one), divergence) < 1e-10);
  // Not the add-remove formula at half the noise.
  CHECK(poisson(0.004, 1.1, 8, Neighbours::replace_one) < 0.9 * poisson(0.004, 0.55, 8));
}

TEST_CASE("Whole orders agree with 50 digits at 60 random settings") {
  RandomStream random(3, {.purpose = Purpose::test});
  for (int i = 0; i < 60; ++i) {
    const double rate = std::pow(10, -7.99 * random.uniform());
    const double sigma = 0.2 * std::pow(5000.0, random.uniform());
    const int order = 2 + static_cast<int>(random.below(i % 6 == 0 ? 1023 : 63));
    CAPTURE(rate);
    CAPTURE(sigma);
    CAPTURE(order);
    if (rate == 1 || rate / sigma < 1e-9) continue;  // the twin sums up to 1 + q^2 / sigma^2
    CHECK(relative_error(poisson(rate, sigma, order), in_fifty_digits(rate, sigma, order)) < 1e-9);
  }
}

TEST_CASE("Sampling without replacement gives Theorem 27 of Wang, Balle and Kasiviswanathan") {
  const Known kKnown[] = {
      {0.01, 4, 2, 2.5797450810048204e-05}, {0.01, 2, 16, 0.000972968945125698}, {0.2, 8, 32, 0.03642859244284248}};
  for (const auto& [rate, sigma, order, divergence] : kKnown)
    CHECK(relative_error(without_replacement_rdp(rate, sigma, {&order, 1}).front(), divergence) < 1e-11);
  // Between whole orders a chord of (a - 1) times the divergence, and never above that without sampling.
  const double orders[] = {4, 4.5, 5, 1024};
  const auto values = without_replacement_rdp(0.01, 2, orders);
  CHECK(3.5 * values[1] == doctest::Approx((3 * values[0] + 4 * values[2]) / 2).epsilon(1e-12));
  CHECK(values[3] <= 1024 / (2 * 2.0 * 2.0));
}

TEST_CASE("Full releases have order times the squared distance over twice the variance") {
  const double order = 3;
  CHECK(release_rdp({.sampling = Sampling::full, .noise_multiplier = 2}, order) == doctest::Approx(0.375));
  CHECK(release_rdp({.rate = 1, .noise_multiplier = 2}, order) == doctest::Approx(0.375));
  CHECK(release_rdp({.sampling = Sampling::full, .neighbours = Neighbours::replace_one, .noise_multiplier = 2}, order) ==
        doctest::Approx(1.5));
}

TEST_CASE("Shuffled lots cost one full release a pass") {
  const Releases shuffled{.sampling = Sampling::shuffle, .rate = 0.01, .noise_multiplier = 3, .count = 500, .passes = 5};
  const Releases full{.sampling = Sampling::full, .noise_multiplier = 3, .count = 5};
  const double order = 7;
  CHECK(spending_rdp({&shuffled, 1}, {&order, 1}) == spending_rdp({&full, 1}, {&order, 1}));
  Releases unknown = shuffled;
  unknown.passes = 0;
  Releases all = full;
  all.count = 500;
  CHECK(spending_rdp({&unknown, 1}, {&order, 1}) == spending_rdp({&all, 1}, {&order, 1}));
}

TEST_CASE("No order overflows, vanishes or turns into no number in the whole range") {
  const auto grid = order_grid(OrderGrid::wide);
  for (const double rate : {1e-8, 1e-4, 0.3, 0.9999, 1.0})
    for (const double sigma : {0.2, 1.0, 1000.0})
      for (const auto sampling : {Sampling::poisson, Sampling::without_replacement}) {
        const Releases release{.sampling = sampling,
                               .neighbours = sampling == Sampling::poisson ? Neighbours::add_remove : Neighbours::replace_one,
                               .rate = rate,
                               .noise_multiplier = sigma};
        const auto values = release_rdp(release, grid);
        CAPTURE(rate);
        CAPTURE(sigma);
        CHECK(std::ranges::all_of(values, [](double value) { return std::isfinite(value) && value > 0; }));
        CHECK(std::ranges::is_sorted(values, [](double a, double b) { return a < b * (1 - 1e-9); }));
      }
}

TEST_CASE("The best order of hundreds of different releases is that of all of them added up") {
  Spending spending;
  for (int t = 1; t <= 400; ++t) spending.push_back({.rate = 0.02, .noise_multiplier = 1 + t / 400.0, .count = 5});
  const auto grid = order_grid(OrderGrid::standard);
  const auto sums = spending_rdp(spending, grid);
  double least = 1e9;
  double order = 0;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const double epsilon = epsilon_at(Conversion::improved, grid[i], sums[i], 1e-5);
    if (epsilon < least) order = grid[i];
    least = std::min(least, epsilon);
  }
  const auto best = best_order(
      spending, grid, [](double at, double divergence) { return epsilon_at(Conversion::improved, at, divergence, 1e-5); });
  CHECK(best.order == order);
  CHECK(best.cost == doctest::Approx(least).epsilon(1e-12));
}

TEST_CASE("The conversions turn back into what they came from") {
  for (const auto conversion : {Conversion::classical, Conversion::improved}) {
    const double epsilon = epsilon_at(conversion, 8, 0.3, 1e-6);
    CHECK(log_delta_at(conversion, 8, 0.3, epsilon) == doctest::Approx(std::log(1e-6)));
  }
  CHECK(epsilon_at(Conversion::classical, 8, 0.3, 1e-6) == doctest::Approx(0.3 + std::log(1e6) / 7));
  CHECK(epsilon_at(Conversion::improved, 8, 0.3, 1e-6) == doctest::Approx(0.3 + std::log(7.0 / 8) - std::log(8e-6) / 7));
}

}  // namespace fedstride::test::rdp_orders_test
