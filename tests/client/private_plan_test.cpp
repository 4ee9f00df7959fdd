#include "client/private_plan.hpp"

#include <doctest/doctest.h>

#include "client/optim/adadp.hpp"
#include "client/optim/optimizer.hpp"
#include "client/optim/sgd.hpp"

namespace fedstride::test::private_plan_test {
namespace {

std::uint64_t total(const Spending& spending) {
  std::uint64_t count = 0;
  for (const auto& releases : spending) count += releases.count;
  return count;
}

}  // namespace

// 60,000 / 256 = 234.375 lots an epoch: the tutorial's 60 epochs are 14,063 steps, not 60 x 234 or 60 x 235.
TEST_CASE("E epochs of Poisson lots have ceil(E / rate) steps") {
  const PrivatePlan plan({.batch = 256}, Sgd{}, 60000);
  CHECK(plan.rate() == doctest::Approx(256.0 / 60000));
  CHECK(plan.denominator() == doctest::Approx(256));
  CHECK(plan.releases_before(60) == 14063);
  std::uint64_t steps = 0;
  for (int epoch = 0; epoch < 60; ++epoch) steps += plan.steps(epoch);
  CHECK(steps == 14063);
  CHECK(PrivatePlan({.batch = 600}, Sgd{}, 60000).releases_before(100) == 10000);
}

TEST_CASE("ADADP takes floor(n / 2B) steps an epoch and pays for two releases each") {
  const PrivatePlan plan({.batch = 200}, Adadp{}, 60000);
  CHECK(plan.steps(7) == 150);
  CHECK(plan.releases_before(100) == 30000);  // Koskela & Honkela's code: 100 epochs
  CHECK(PrivatePlan({.batch = 40}, Adadp{}, 60).steps(0) == 1);
}

TEST_CASE("after adapt-epochs a step pays for one release") {
  Adadp adadp;
  adadp.adapt_epochs = 50;
  const PrivatePlan plan({.batch = 200}, adadp, 60000);
  CHECK(plan.releases_before(50) == 15000);
  CHECK(plan.releases_before(100) == 30000);
  CHECK(plan.steps(49) == 150);
  CHECK(plan.steps(50) == 300);
  CHECK(plan.lots_per_step(49) == 2);
  CHECK(plan.lots_per_step(50) == 1);
}

// 60 rows in lots of 40: an epoch of two lots a step is one step, and the first e epochs of one lot a step are ceil(3 e / 2).
TEST_CASE("releases of epochs on both sides of the change are each counted at their own lots a step") {
  Adadp adadp;
  adadp.adapt_epochs = 2;
  const PrivatePlan plan({.batch = 40}, adadp, 60);
  CHECK(plan.releases_before(0) == 0);
  CHECK(plan.releases_before(1) == 2);
  CHECK(plan.releases_before(2) == 4);
  CHECK(plan.releases_before(3) == 4 + 5 - 3);
  CHECK(plan.releases_before(4) == 4 + 6 - 3);
  for (int epoch = 0; epoch < 9; ++epoch)
    CHECK(plan.releases_before(epoch + 1) - plan.releases_before(epoch) ==
          plan.steps(epoch) * static_cast<std::uint64_t>(plan.lots_per_step(epoch)));
}

TEST_CASE("an epoch whose steps are set has these, at the rate of its lots") {
  const PrivatePlan sgd({.steps = 7, .batch = 10}, Sgd{}, 95);
  CHECK(sgd.rate() == doctest::Approx(10.0 / 95));
  CHECK(sgd.steps(4) == 7);
  CHECK(sgd.releases_before(3) == 21);
  CHECK(PrivatePlan({.steps = 7, .batch = 10}, Adadp{}, 95).releases_before(3) == 42);
}

TEST_CASE("a rate of 1 is the full batch, one step per epoch, for any sampling") {
  for (const auto sampling : {Sampling::poisson, Sampling::shuffle, Sampling::without_replacement}) {
    const PrivatePlan plan({.sampling = sampling, .batch = 100}, Sgd{}, 40);
    CHECK(plan.sampling() == Sampling::full);
    CHECK(plan.denominator() == 40);
    CHECK(plan.releases_before(9) == 9);
  }
}

TEST_CASE("lots of fixed size have whole examples, and the accountant gets the resulting rate") {
  const PrivatePlan plan({.sampling = Sampling::without_replacement, .sampling_rate = 0.3}, Sgd{}, 5);
  CHECK(plan.lot() == 2);  // 1.5 rounded up
  CHECK(plan.rate() == doctest::Approx(0.4));
  CHECK(plan.denominator() == doctest::Approx(2));
}

TEST_CASE("an epoch of shuffled lots has floor(rows / batch), each record in at most one of them") {
  const PrivatePlan plan({.sampling = Sampling::shuffle, .batch = 30, .noise = {.noise_multiplier = 2}}, Sgd{}, 100);
  CHECK(plan.steps(3) == 3);
  const Spending spending = plan.spending(0, plan.releases_before(4), 4);
  REQUIRE(spending.size() == 1);
  CHECK(spending[0].sampling == Sampling::shuffle);
  CHECK(spending[0].passes == 4);
}

TEST_CASE("the accountant gets exactly the releases of the plan, at its rate and noise") {
  const PrivatePlan plan({.batch = 10, .noise = {.clip = 2, .noise_multiplier = 1.5}}, Sgd{}, 95);
  const Spending spending = plan.spending(3, 20, 2);
  REQUIRE(spending.size() == 1);
  CHECK(spending[0].rate == plan.rate());
  CHECK(spending[0].noise_multiplier == 1.5);
  CHECK(total(spending) == 20);
}

// Yu et al.: noise at C sigma, clip C / min(2, 1 + t/T): what is charged is sigma min(2, 1 + t/T).
TEST_CASE("a falling clip is charged with a growing noise multiplier, over the releases of the target") {
  const PrivatePlan plan(
      {.batch = 10, .noise = {.clip = 12, .noise_multiplier = 3, .clip_schedule = ClipSchedule::hyperbolic}, .target_epochs = 2},
      Sgd{}, 100);
  CHECK(plan.noise().at(9).clip == doctest::Approx(12 / 1.5));  // t = 10 of T = 20
  CHECK(plan.noise().at(9).noise_multiplier == doctest::Approx(4.5));
  CHECK(plan.noise().at(19).clip == doctest::Approx(6));
  CHECK(plan.noise().at(500).clip == doctest::Approx(6));
}

}  // namespace fedstride::test::private_plan_test
