#include "client/outside_training.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "client/optim/sgd.hpp"

namespace fedstride::test::outside_training_test {

TEST_CASE("a client of one example has lots of it, and one without examples has none") {
  const std::array<ParameterRange, 1> tensors{ParameterRange{0, 2}};
  LocalTraining training{.optimizer = Sgd{}, .epochs = 2, .seed = 5};
  training.privacy.emplace();
  const PrivateRules rules{.batch = 1, .noise = {.clip = 3, .noise_multiplier = 2.5}};
  training.privacy->plans = {nullptr, std::make_shared<const PrivatePlan>(rules, Sgd{}, 1)};
  const Vector model(2);
  const std::array<std::uint64_t, 2> releases{0, 9};
  const Task task{.round = 3, .model = model, .releases = releases};

  const OutsideTask one = outside_task(training, task, 1, 1, "kept");
  CHECK(one.round == 3);
  CHECK(one.client == 1);
  CHECK(one.rows == 1);
  CHECK(one.state == "kept");
  CHECK(one.seed == RandomStream(5, {.purpose = Purpose::outside_training, .round = 3, .client = 1}).bits64() / 2);
  REQUIRE(one.lots);
  CHECK(one.lots->first_epoch == 4);  // two rounds of two epochs came before
  CHECK(one.lots->reserved == 9);
  CHECK(one.lots->plan.noise().at(0).clip == 3);
  CHECK(one.lots->plan.noise().at(0).noise_multiplier == 2.5);
  OutsideLots lots(*one.lots, tensors);
  int count = 0;
  for (; lots.next(); ++count) {
    CHECK(lots.drawn().size() == 1);
    const float gradient[] = {1, 0};
    bool given = false;
    lots.release([&]() -> std::optional<ExampleGradients> {
      if (std::exchange(given, true)) return std::nullopt;
      return ExampleGradients{1, {{0, 2, gradient}}};
    });
  }
  CHECK(count == 2);

  const OutsideTask none = outside_task(training, task, 0, 0, "");
  REQUIRE(none.lots);
  CHECK(none.lots->reserved == 0);
  CHECK_FALSE(OutsideLots(*none.lots, tensors).next());
  training.privacy.reset();
  CHECK_FALSE(outside_task(training, task, 1, 1, "").lots);
}

}  // namespace fedstride::test::outside_training_test
