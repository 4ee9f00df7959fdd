#include <doctest/doctest.h>

#include "core/error.hpp"
#include "dp/accountants/filter.hpp"
#include "dp/accountants/moments.hpp"
#include "dp/accountants/zcdp.hpp"

namespace fedstride::test::filter_test {

TEST_CASE("An RDP filter admits what its order's budget holds, and no more") {
  const Releases planned{.rate = 0.01, .noise_multiplier = 4};
  RdpFilter filter(1, 1e-5, planned);
  CHECK(filter.budget() == doctest::Approx(divergence_within(Conversion::improved, filter.order(), 1, 1e-5)));
  // As planned, it holds what the improved conversion proves at the best order for all of them.
  std::uint64_t steps = 0;
  while (filter.admits(planned)) {
    filter.charge(planned);
    ++steps;
  }
  const double order = filter.order();
  CHECK(steps == static_cast<std::uint64_t>(filter.budget() / release_rdp(planned, order)));
  const Releases all{.rate = 0.01, .noise_multiplier = 4, .count = steps};
  Rdp rdp;
  CHECK(rdp.epsilon(Spending{all}, 1e-5).value <= 1);
  Releases one_more = all;
  one_more.count += 2;
  CHECK(epsilon_at(Conversion::improved, order, spending_rdp(Spending{one_more}, {&order, 1}).front(), 1e-5) > 1);
}

TEST_CASE("A filter takes noise chosen on the way, and keeps its budget when it refuses") {
  RdpFilter filter(1, 1e-5, {.rate = 0.01, .noise_multiplier = 4});
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
  RdpFilter filter(1, 1e-5, {.rate = 0.01, .noise_multiplier = 4});
  CHECK_THROWS_WITH_AS(filter.admits({.neighbours = Neighbours::replace_one}),
                       "rdp filter: neighbours are replace-one; the filter was set up for add-remove", Error);
  CHECK_THROWS_AS(filter.admits({.sampling = Sampling::without_replacement, .rate = 0.5}), Error);
  CHECK_THROWS_AS(RdpFilter(1e-6, 1e-9, {.rate = 0.01}), Error);
  CHECK_THROWS_AS(RdpFilter(1, 0, {.rate = 0.01}), Error);
}

TEST_CASE("A zCDP filter's budget is the rho that means its epsilon") {
  ZcdpFilter filter(0.5457255482740024, 1e-5, Neighbours::add_remove);
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

}  // namespace fedstride::test::filter_test
