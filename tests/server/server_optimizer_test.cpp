#include "server/server_optimizer.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/random.hpp"
#include "server/federated_averaging.hpp"
#include "server/federated_momentum.hpp"
#include "server/server_optimizer_of.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::server_optimizer_test {
namespace {

Vector drawn_change(std::uint32_t row) {
  RandomStream random(8, {.purpose = Purpose::test, .row = row});
  Vector change(101);
  for (float& value : change) value = static_cast<float>(random.normal());
  return change;
}

}  // namespace

TEST_CASE("federated averaging is the default and carries nothing; momentum carries a vector") {
  CHECK(ServerOptimizer().name() == "average");
  Server average(FederatedAveraging{}, 101), momentum(FederatedMomentum{}, 101);
  const std::string nothing = average.save(), fresh = momentum.save();
  Vector model = drawn_change(0);
  average.apply(model, drawn_change(1));
  momentum.apply(model, drawn_change(1));
  CHECK(average.save() == nothing);
  CHECK(momentum.save() != fresh);
}

TEST_CASE("a state of another size, cut, longer or of another optimiser is refused by name") {
  for (const auto& name : ServerOptimizerPart::family().names()) {
    CAPTURE(name);
    ServerOptimizer kind;
    kind.choose(name);
    Server server(kind, 101);
    const std::string good = server.save();
    CHECK_NOTHROW(server.load(good));
    CHECK_THROWS_WITH_AS(server.load(good + '\0'), doctest::Contains(name.c_str()), Error);
  }
  CHECK_THROWS_AS(Server(FederatedMomentum{}, 100).load(""), Error);
  CHECK_THROWS_AS(Server(FederatedMomentum{}, 100).load(Server(FederatedMomentum{}, 101).save()), Error);
  CHECK_THROWS_AS(Server(FederatedAveraging{}, 100).load(Server(FederatedMomentum{}, 100).save()), Error);
  CHECK_THROWS_AS(Server(FederatedMomentum{}, 100).load(Server(FederatedAveraging{}, 100).save()), Error);
}

TEST_CASE("federated averaging adds the mean change, times its rate") {
  Server server(FederatedAveraging{.server_learning_rate = 0.5}, 2);
  Vector model = vector_of({1, -1});
  server.apply(model, vector_of({2, 4}));
  CHECK(model == vector_of({2, 1}));
  server.apply(model, vector_of({2, 4}));
  CHECK(model == vector_of({3, 3}));
}

TEST_CASE("momentum by hand: v = v / 2 + change, model += 2 v") {
  Server server(FederatedMomentum{.server_learning_rate = 2, .server_momentum = 0.5}, 2);
  Vector model = vector_of({1, 0});
  server.apply(model, vector_of({4, -1}));  // v = 4, -1
  CHECK(model == vector_of({9, -2}));
  server.apply(model, vector_of({1, 0}));  // v = 3, -1/2
  CHECK(model == vector_of({15, -3}));
  server.apply(model, vector_of({-1.5F, 2}));  // v = 0, 7/4
  CHECK(model == vector_of({15, 0.5F}));
  server.apply(model, vector_of({0, 0}));  // v = 0, 7/8: it goes on without a change
  CHECK(model == vector_of({15, 2.25F}));
}

TEST_CASE("momentum without memory is federated averaging, and in the long run goes 1 / (1 - beta) times as far") {
  Server none(FederatedMomentum{.server_learning_rate = 0.7, .server_momentum = 0}, 101);
  Server average(FederatedAveraging{.server_learning_rate = 0.7}, 101), momentum(FederatedMomentum{}, 1);
  Vector a = drawn_change(0), b = a;
  for (std::uint32_t round = 1; round <= 5; ++round) {
    none.apply(a, drawn_change(round));
    average.apply(b, drawn_change(round));
    CHECK(a == b);
  }
  Vector model(1);
  for (int round = 0; round < 300; ++round) momentum.apply(model, Vector(1, 0.25F));
  const float before = model[0];
  momentum.apply(model, Vector(1, 0.25F));
  CHECK(model[0] - before == doctest::Approx(2.5).epsilon(1e-4));
}

}  // namespace fedstride::test::server_optimizer_test
