// What every local optimiser promises (optim/optimizer.hpp), for every one in the registry.
#include <doctest/doctest.h>

#include <cereal/archives/binary.hpp>
#include <set>
#include <sstream>

#include "core/random.hpp"
#include "core/serialize.hpp"
#include "optim/optimizers.hpp"
#include "tests/optim/gradients.hpp"

using namespace fedstride;
using fedstride::test::Quadratic;
using fedstride::test::Scripted;
using fedstride::test::values_of;

#define EVERY_OPTIMIZER Adadp, Sgd, HeavyBall, Ema, Adam

namespace {

std::vector<float> draws(std::size_t size, std::uint32_t row) {
  RandomStream random(7, {.purpose = Purpose::test, .row = row});
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

Quadratic a_quadratic(std::size_t size) {
  Quadratic quadratic{.curvature = draws(size, 1), .centre = draws(size, 2)};
  for (float& curvature : quadratic.curvature) curvature = 0.05F + std::abs(curvature) * 0.1F;
  return quadratic;
}

template <class State>
std::string saved(const State& state) {
  std::ostringstream bytes;
  cereal::BinaryOutputArchive archive(bytes);
  archive(state);
  return bytes.str();
}

/// A client: an optimiser with all that belongs to it.
template <class T>
struct Client {
  T optimizer;
  typename T::State state = {};
  typename T::Scratch scratch = {};
  Vector weights;

  explicit Client(const std::vector<float>& start) : weights(test::vector_of(start)) {
    optimizer.start(state, start.size());
  }
  StepReport step(Gradient gradient, int epoch = 0) {
    return optimizer.step(state, scratch, weights, gradient, Progress{.epoch = epoch});
  }
};

}  // namespace

TEST_CASE("the list of this file is the registry, and no two parts or fields share a name") {
  static_assert(std::is_same_v<Optimizer, std::variant<EVERY_OPTIMIZER>>);
  const auto names = part_names<Optimizer>();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  for_each_part<Optimizer>([]<class Part>(const Part&) {
    std::set<std::string_view> fields;
    for_each_field<Part>([&](const auto& field) { CHECK_MESSAGE(fields.insert(field.name).second, field.name); });
  });
}

TEST_CASE("the registry finds a part by its name and names the nearest for a slip") {
  CHECK(part_name(make_part<Optimizer>("optimizer", "heavy-ball")) == "heavy-ball");
  CHECK_THROWS_WITH_AS(make_part<Optimizer>("optimizer", "adap"), doctest::Contains("did you mean"), Error);
}

TEST_CASE_TEMPLATE("the defaults are valid", T, EVERY_OPTIMIZER) {
  const T optimizer;
  for_each_field<T>([&](const auto& field) { CHECK_NOTHROW(check_field(field, optimizer.*field.member)); });
}

TEST_CASE_TEMPLATE("a learning rate of zero, below zero or not a number is refused", T, EVERY_OPTIMIZER) {
  const auto& rate = std::get<0>(T::kFields);
  REQUIRE(rate.name == "learning-rate");
  CHECK_THROWS_AS(check_field(rate, 0.0), Error);
  CHECK_THROWS_AS(check_field(rate, -0.1), Error);
  CHECK_THROWS_AS(check_field(rate, std::nan("")), Error);
}

TEST_CASE_TEMPLATE("save, load, step equals step", T, EVERY_OPTIMIZER) {
  const Quadratic gradient = a_quadratic(101);
  Client<T> one(draws(101, 3));
  for (int i = 0; i < 3; ++i) one.step(gradient, i);

  Client<T> other(values_of(one.weights));
  std::istringstream bytes(saved(one.state));
  cereal::BinaryInputArchive archive(bytes);
  archive(other.state);
  for (int i = 0; i < 3; ++i) {
    const StepReport expected = one.step(gradient, i);
    const StepReport report = other.step(gradient, i);
    CHECK(report.learning_rate == expected.learning_rate);
    CHECK(report.error == expected.error);
    CHECK(values_of(other.weights) == values_of(one.weights));
  }
}

TEST_CASE_TEMPLATE("start makes a used state a fresh one", T, EVERY_OPTIMIZER) {
  const Quadratic gradient = a_quadratic(33);
  Client<T> client(draws(33, 3));
  const std::string fresh = saved(client.state);
  for (int i = 0; i < 3; ++i) client.step(gradient);
  client.optimizer.start(client.state, 33);
  CHECK(saved(client.state) == fresh);
}

TEST_CASE_TEMPLATE("a scratch used by one client does not show in another", T, EVERY_OPTIMIZER) {
  const Quadratic gradient = a_quadratic(33);
  Client<T> clean(draws(33, 4));
  Client<T> first(draws(33, 3));
  first.step(gradient);
  Client<T> second(draws(33, 4));
  second.scratch = first.scratch;
  clean.step(gradient);
  second.step(gradient);
  CHECK(values_of(second.weights) == values_of(clean.weights));
}

TEST_CASE_TEMPLATE("no gradient, no change", T, EVERY_OPTIMIZER) {
  const std::vector<float> start = draws(50, 5);
  Client<T> client(start);
  Scripted zeros{.gradients = {std::vector<float>(50, 0.0F)}};
  for (int i = 0; i < 3; ++i) CHECK(client.step(zeros).accepted);
  CHECK(values_of(client.weights) == start);
}

TEST_CASE_TEMPLATE("a step asks for as many batches as it says", T, EVERY_OPTIMIZER) {
  Client<T> client(draws(8, 5));
  Scripted gradient{.gradients = {draws(8, 6)}};
  client.step(gradient);
  client.step(gradient);
  CHECK(gradient.calls == 2 * T::kGradientsPerStep);
}

TEST_CASE_TEMPLATE("a step is taken with the rate that was announced", T, EVERY_OPTIMIZER) {
  const Quadratic gradient = a_quadratic(33);
  Client<T> client(draws(33, 3));
  for (int epoch = 0; epoch < 4; ++epoch) {
    const double announced = client.optimizer.learning_rate(client.state, Progress{.epoch = epoch});
    CHECK(client.step(gradient, epoch).learning_rate == announced);
  }
}

TEST_CASE_TEMPLATE("how the gradient is cut changes no bit of a step", T, EVERY_OPTIMIZER) {
  constexpr int kSteps = std::is_same_v<T, Adadp> ? 1 : 4;  // ADADP's rate hangs on a sum, in order of the pieces
  Quadratic gradient = a_quadratic(203);
  gradient.length = 203;
  Client<T> whole(draws(203, 3));
  for (int i = 0; i < kSteps; ++i) whole.step(gradient);
  for (const std::size_t length : {1, 7, 16, 33, 64}) {
    CAPTURE(length);
    gradient.length = length;
    Client<T> pieces(draws(203, 3));
    for (int i = 0; i < kSteps; ++i) pieces.step(gradient);
    CHECK(values_of(pieces.weights) == values_of(whole.weights));
  }
}

TEST_CASE_TEMPLATE("what is never reported stays zero", T, EVERY_OPTIMIZER) {
  Client<T> client({1, 2, 0, 0, 3});
  const std::vector<float> values = {0.1F, 0.2F, 0.3F};
  const auto with_gap = [&](const float*, GradientSink sink) {
    return sink(0, std::span(values).first(2)) + sink(4, std::span(values).last(1));
  };
  for (int i = 0; i < 3; ++i) {
    client.step(with_gap);
    CHECK(client.weights[2] == 0.0F);
    CHECK(client.weights[3] == 0.0F);
    CHECK(client.weights[4] < 3.0F);
  }
}

TEST_CASE_TEMPLATE("it descends a bowl", T, EVERY_OPTIMIZER) {
  const Quadratic gradient = a_quadratic(64);
  Client<T> client(draws(64, 3));
  client.optimizer.initial_rate = 0.1;
  client.optimizer.start(client.state, 64);
  const Vector centre = test::vector_of(gradient.centre);
  const float before = (client.weights - centre).norm();
  for (int i = 0; i < 100; ++i) client.step(gradient);
  CHECK((client.weights - centre).norm() < 0.8F * before);
}

TEST_CASE_TEMPLATE("a state of another model's size is refused", T, HeavyBall, Ema, Adam) {
  Client<T> client(draws(8, 5));
  client.optimizer.start(client.state, 9);
  Scripted gradient{.gradients = {draws(8, 6)}};
  CHECK_THROWS_WITH_AS(client.step(gradient), doctest::Contains("is for 9 parameters; the model has 8"), Error);
}
