#include <doctest/doctest.h>

#include <cmath>

#include "core/error.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/filter.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::filter_test {

TEST_CASE("An RDP filter admits what its order's budget holds, and no more") {
  const Releases planned{.rate = 0.01, .noise_multiplier = 4};
  auto filter = PrivacyFilter::by_rdp(1, 1e-5, planned);
  const double order = filter.order().value();
  CHECK(filter.budget() == doctest::Approx(divergence_within(Conversion::improved, order, 1, 1e-5)));
  // As planned, it holds what the improved conversion proves at the best order for all of them.
  const std::uint64_t room = filter.admitted(planned, 1'000'000);
  std::uint64_t steps = 0;
  while (filter.admits(planned)) {
    filter.charge(planned);
    ++steps;
  }
  CHECK(steps == room);
  CHECK(filter.admitted(planned, 1'000'000) == 0);
  CHECK(steps == static_cast<std::uint64_t>(filter.budget() / release_rdp(planned, order)));
  const Releases all{.rate = 0.01, .noise_multiplier = 4, .count = steps};
  CHECK(Rdp{}.epsilon(Spending{all}, 1e-5).value <= 1);
  Releases one_more = all;
  one_more.count += 2;
  CHECK(epsilon_at(Conversion::improved, order, spending_rdp(Spending{one_more}, {&order, 1}).front(), 1e-5) > 1);
}

TEST_CASE("A filter takes noise chosen on the way, and keeps its budget when it refuses") {
  auto filter = PrivacyFilter::by_rdp(1, 1e-5, {.rate = 0.01, .noise_multiplier = 4});
  filter.charge({.rate = 0.01, .noise_multiplier = 2, .count = 100, .adaptive = true});
  const double spent = filter.spent();
  CHECK(spent > 0);
  const Releases too_much{.rate = 0.5, .noise_multiplier = 1, .adaptive = true};
  CHECK(!filter.admits(too_much));
  CHECK_THROWS_AS(filter.charge(too_much), Error);
  CHECK(filter.spent() == spent);
  CHECK(filter.admits({.rate = 0.01, .noise_multiplier = 8, .adaptive = true}));
  CHECK(filter.epsilon() == 1);
  CHECK(filter.delta() == 1e-5);
}

TEST_CASE("A filter refuses what it was not set up for") {
  auto filter = PrivacyFilter::by_rdp(1, 1e-5, {.rate = 0.01, .noise_multiplier = 4});
  const Releases replaced{.neighbours = Neighbours::replace_one};
  CHECK_USAGE_ERROR(filter.admits(replaced), "rdp filter", "replace-one", "add-remove");
  CHECK_THROWS_AS(filter.admits({.sampling = Sampling::without_replacement, .rate = 0.5}), Error);
  CHECK_THROWS_AS(PrivacyFilter::by_rdp(1e-6, 1e-9, {.rate = 0.01}), Error);
  CHECK_THROWS_AS(PrivacyFilter::by_rdp(1, 0, {.rate = 0.01}), Error);
}

TEST_CASE("A zCDP filter's budget is the rho that means its epsilon") {
  auto filter = PrivacyFilter::by_zcdp(0.5457255482740024, 1e-5, Neighbours::add_remove);
  CHECK(filter.budget() == doctest::Approx(0.01).epsilon(1e-6));
  const Releases release{.sampling = Sampling::full, .noise_multiplier = 10, .adaptive = true};  // rho 0.005
  filter.charge(release);
  CHECK(filter.spent() == doctest::Approx(0.005));
  Releases quieter = release;
  quieter.noise_multiplier = 9.9;
  CHECK(!filter.admits(quieter));
  Releases louder = release;
  louder.noise_multiplier = 10.1;
  CHECK(filter.admits(louder));
  CHECK_THROWS_AS(filter.admits({.rate = 0.01, .noise_multiplier = 100}), Error);
}

TEST_CASE("By Feldman and Zrnic the classical RDP filter holds (B + ln(1/delta) / (a-1)), with no loss for adaptivity") {
  // Gaussian releases of every record: divergence a / 2 sigma^2 each. At order a the budget is epsilon - ln(1/delta) / (a-1).
  const Releases planned{.sampling = Sampling::full, .noise_multiplier = 20};
  auto filter = PrivacyFilter::by_rdp(2, 1e-6, planned, OrderGrid::standard, Conversion::classical);
  const double order = filter.order().value();
  CHECK(filter.budget() == doctest::Approx(2 - std::log(1e6) / (order - 1)).epsilon(1e-12));
  // The best order maximizes (epsilon - L / (a-1)) / a, L = ln(1/delta): a = 1 + L/eps + sqrt((L/eps)^2 + L/eps) = 15.3.
  CHECK(order == doctest::Approx(15).epsilon(0.04));
  const auto steps = filter.admitted(planned, 10'000);
  CHECK(steps == static_cast<std::uint64_t>(filter.budget() * (1 - 1e-9) * 2 * 400 / order));
  // Half as much noise, chosen on the way, costs four times as much; whatever comes first, the sum is the same.
  filter.charge({.sampling = Sampling::full, .noise_multiplier = 10, .count = 10, .adaptive = true});
  CHECK(filter.admitted(planned, 10'000) == steps - 40);
}

TEST_CASE("A zCDP filter admits more than the one of Rogers, Roth, Ullman and Vadhan, and no more than their valid least") {
  // Their Theorem 5.1: epsilon_g >= sum e (exp(e) - 1) / 2 + sqrt(2 (S + H) (1 + ln(S / H + 1) / 2) ln(2/delta)),
  // S = sum e^2, H = epsilon_g^2 / (28.04 ln(1/delta)). A release of rho = e^2 / 2 costs no more than one of e (Bun, Steinke).
  const double e = 0.01, budget = 1, delta = 1e-6;
  const auto theirs = [&](double steps) {
    const double square = steps * e * e;
    const double h = budget * budget / (28.04 * std::log(1 / delta));
    return steps * e * std::expm1(e) / 2 + std::sqrt(2 * (square + h) * (1 + std::log(square / h + 1) / 2) * std::log(2 / delta));
  };
  int rogers = 0;
  while (theirs(rogers + 1) <= budget) ++rogers;
  CHECK(rogers > 100);
  const auto filter = PrivacyFilter::by_zcdp(budget, delta, Neighbours::add_remove, Conversion::classical);
  const Releases release{.sampling = Sampling::full, .noise_multiplier = 1 / e, .adaptive = true};
  const auto admitted = static_cast<int>(filter.admitted(release, 1'000'000));
  CHECK(admitted > rogers);
  // rho + 2 sqrt(rho L) = epsilon: rho = (sqrt(L + epsilon) - sqrt(L))^2.
  const double l = std::log(1 / delta);
  CHECK(filter.budget() == doctest::Approx(std::pow(std::sqrt(l + budget) - std::sqrt(l), 2)));
  CHECK(admitted == static_cast<int>(filter.budget() * (1 - 1e-9) * 2 / (e * e)));
}

}  // namespace fedstride::test::filter_test
