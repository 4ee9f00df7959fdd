#include "server/server_optimizer.hpp"

#include <doctest/doctest.h>

#include <set>

#include "core/error.hpp"
#include "core/random.hpp"

namespace fedstride {
namespace {

Vector drawn_change(std::uint32_t row, Eigen::Index size = 101) {
  RandomStream random(8, {.purpose = Purpose::test, .row = row});
  Vector change(size);
  for (float& value : change) value = static_cast<float>(random.normal());
  return change;
}

}  // namespace

// What every server optimiser promises, for every one in the registry.

TEST_CASE("server optimisers: names are unique, defaults valid, a rate of zero is refused") {
  const auto names = part_names<ServerOptimizer>();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  CHECK(names.front() == "average");
  for_each_part<ServerOptimizer>([]<class Part>(const Part& part) {
    std::set<std::string_view> fields;
    for_each_field<Part>([&](const auto& field) {
      CHECK_MESSAGE(fields.insert(field.name).second, field.name);
      CHECK_NOTHROW(check_field(field, part.*field.member));
    });
    CHECK_THROWS_AS(check_field(std::get<0>(Part::kFields), 0.0), Error);
  });
}

TEST_CASE("server optimisers: save, load, apply equals apply; a fresh one is not as a used one") {
  for_each_part<ServerOptimizer>([]<class Part>(const Part& part) {
    CAPTURE(Part::kName);
    Server one(part, 101), other(part, 101);
    const std::string fresh = one.save();
    Vector model = drawn_change(0);
    for (std::uint32_t round = 1; round <= 3; ++round) one.apply(model, drawn_change(round));
    CHECK((one.save() == fresh) == (part_name(ServerOptimizer(part)) == "average"));
    Vector twin = model;
    other.load(one.save());
    for (std::uint32_t round = 4; round <= 6; ++round) {
      one.apply(model, drawn_change(round));
      other.apply(twin, drawn_change(round));
      CHECK(twin == model);
    }
    CHECK(other.save() == one.save());
  });
}

TEST_CASE("server optimisers: a state of another size, cut or of another optimiser is refused") {
  for_each_part<ServerOptimizer>([]<class Part>(const Part& part) {
    CAPTURE(Part::kName);
    Server server(part, 101);
    const std::string good = server.save();
    CHECK_NOTHROW(server.load(good));
    CHECK_THROWS_WITH_AS(server.load(good.substr(0, good.size() - 1)), doctest::Contains(std::string(Part::kName).c_str()),
                         Error);
    CHECK_THROWS_AS(server.load(good + '\0'), Error);
    CHECK_THROWS_AS(server.load(""), Error);
  });
  CHECK_THROWS_AS(Server(FederatedMomentum{}, 100).load(Server(FederatedMomentum{}, 101).save()), Error);
  CHECK_THROWS_AS(Server(FederatedAveraging{}, 100).load(Server(FederatedMomentum{}, 100).save()), Error);
  CHECK_THROWS_AS(Server(FederatedMomentum{}, 100).load(Server(FederatedAveraging{}, 100).save()), Error);
}

TEST_CASE("federated averaging adds the mean change, times its rate") {
  Server server(FederatedAveraging{.server_learning_rate = 0.5}, 2);
  Vector model = Eigen::Vector2f(1, -1);
  server.apply(model, Eigen::Vector2f(2, 4));
  CHECK(model == Eigen::Vector2f(2, 1));
  server.apply(model, Eigen::Vector2f(2, 4));
  CHECK(model == Eigen::Vector2f(3, 3));
}

TEST_CASE("momentum by hand: v = v / 2 + change, model += 2 v") {
  Server server(FederatedMomentum{.server_learning_rate = 2, .server_momentum = 0.5}, 2);
  Vector model = Eigen::Vector2f(1, 0);
  server.apply(model, Eigen::Vector2f(4, -1));  // v = 4, -1
  CHECK(model == Eigen::Vector2f(9, -2));
  server.apply(model, Eigen::Vector2f(1, 0));  // v = 3, -1/2
  CHECK(model == Eigen::Vector2f(15, -3));
  server.apply(model, Eigen::Vector2f(-1.5, 2));  // v = 0, 7/4
  CHECK(model == Eigen::Vector2f(15, 0.5));
  server.apply(model, Eigen::Vector2f(0, 0));  // v = 0, 7/8: it goes on without a change
  CHECK(model == Eigen::Vector2f(15, 2.25));
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

}  // namespace fedstride
