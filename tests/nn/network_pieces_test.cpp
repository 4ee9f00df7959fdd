#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/floating_point.hpp"
#include "core/random.hpp"
#include "nn/models.hpp"
#include "nn/network.hpp"

namespace fedstride::test::network_pieces_test {
namespace {

std::atomic<long> allocations = 0;
std::atomic<std::size_t> allocated = 0;  // bytes, of all allocations together

}  // namespace
}  // namespace fedstride::test::network_pieces_test

// Every way of asking for memory counts.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++fedstride::test::network_pieces_test::allocations;
  fedstride::test::network_pieces_test::allocated += size;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  ++fedstride::test::network_pieces_test::allocations;
  fedstride::test::network_pieces_test::allocated += size;
  const auto step = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(step, (size + step - 1) / step * step)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace fedstride::test::network_pieces_test {
namespace {

constexpr const char* kLine =
    "conv 64 3 | relu | maxpool 3 2 | conv 64 3 | relu | maxpool 3 2 | dropout 0.25 | dense 500 | relu | dense classes";
constexpr Shape kPicture{32, 32, 3};

struct Outcome {
  std::vector<float> gradient;
  double loss = 0;
  double sink = 0;
  std::vector<double> norms = {};
  bool operator==(const Outcome&) const = default;
};

class Fixture {
 public:
  explicit Fixture(int examples)
      : model(Model::parse(kLine, kPicture, 10)),
        weights(model.initial(Initialization::fan_in, 3)),
        network(model, 12),
        inputs(static_cast<std::size_t>(examples) * kPicture.size()),
        labels(static_cast<std::size_t>(examples)),
        rows(static_cast<std::size_t>(examples)) {
    RandomStream random(2, {.purpose = Purpose::test});
    for (float& value : inputs) value = static_cast<float>(random.normal());
    for (Label& label : labels) label = static_cast<Label>(random.below(10));
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = static_cast<Row>(r);
  }

  /// One gradient, recorded stretch by stretch; the sink returns a square sum whose rounding shows any change of order.
  Outcome gradient(ForEachPiece for_each_piece) {
    const FloatingPointMode mode;
    Outcome outcome;
    outcome.gradient.resize(model.size());
    std::copy(inputs.begin(), inputs.end(), network.inputs(static_cast<int>(labels.size())).begin());
    const auto loss = network.gradient(
        weights.data(), {labels, rows, {.seed = 1}},
        [&](std::size_t offset, std::span<const float> stretch) {
          std::copy(stretch.begin(), stretch.end(), outcome.gradient.begin() + static_cast<std::ptrdiff_t>(offset));
          double squares = 0;
          for (const float value : stretch) squares += static_cast<double>(value) * value;
          return squares;
        },
        for_each_piece);
    outcome.loss = loss.loss_sum;
    outcome.sink = loss.sink_sum;
    return outcome;
  }

  /// Norms and a weighted sum, recorded the same way; the loss joins the norms.
  Outcome weighted_sum(ForEachPiece for_each_piece) {
    const FloatingPointMode mode;
    Outcome outcome;
    outcome.gradient.resize(model.size());
    std::copy(inputs.begin(), inputs.end(), network.inputs(static_cast<int>(labels.size())).begin());
    std::vector<float> factors(labels.size());
    outcome.norms.resize(labels.size());
    outcome.loss = network.per_example(weights.data(), {labels, rows, {.seed = 1}}, outcome.norms, for_each_piece).loss_sum;
    for (std::size_t r = 0; r < factors.size(); ++r) factors[r] = static_cast<float>(1 / outcome.norms[r]);
    outcome.sink = network.weighted_sum(
        factors,
        [&](std::size_t offset, std::span<const double> stretch) {
          std::ranges::transform(stretch, outcome.gradient.begin() + static_cast<std::ptrdiff_t>(offset),
                                 [](double value) { return static_cast<float>(value); });
          double squares = 0;
          for (const double value : stretch) squares += value * value;
          return squares;
        },
        for_each_piece);
    return outcome;
  }

  Model model;
  Vector weights;
  Network network;
  std::vector<float> inputs;
  std::vector<Label> labels;
  std::vector<Row> rows;
};

void backwards(int count, function_ref<void(int)> piece) {
  for (int i = count; i-- > 0;) piece(i);
}

void on_three_threads(int count, function_ref<void(int)> piece) {
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      const FloatingPointMode mode;
      for (int i = next++; i < count; i = next++) piece(i);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("pieces in any order and on any threads give the same gradient, loss and sink's sum, bit for bit") {
  for (const int examples : {1, 7, 10}) {
    CAPTURE(examples);
    Fixture fixture(examples);
    const Outcome expected = fixture.gradient(serially);
    CHECK((fixture.gradient(backwards) == expected));
    CHECK((fixture.gradient(on_three_threads) == expected));
    CHECK((fixture.gradient(serially) == expected));
  }
}

TEST_CASE("norms and weighted sums have the same bits whatever the order and the threads of their pieces") {
  for (const int examples : {1, 7, 12}) {
    CAPTURE(examples);
    Fixture fixture(examples);
    const Outcome expected = fixture.weighted_sum(serially);
    CHECK((fixture.weighted_sum(backwards) == expected));
    CHECK((fixture.weighted_sum(on_three_threads) == expected));
    CHECK((fixture.weighted_sum(serially) == expected));
  }
}

TEST_CASE("a step on ten pictures is cut into several pieces, one of few flops is not cut at all") {
  Fixture fixture(10);
  int regions = 0, most = 0;
  fixture.gradient([&](int count, function_ref<void(int)> piece) {
    ++regions;
    most = std::max(most, count);
    serially(count, piece);
  });
  CHECK(regions >= 4);
  CHECK(most >= 4);

  const Model small = Model::parse("dense 32 | relu | dense classes", {1, 1, 16}, 10);
  Network network(small, 10);
  const std::vector<Label> labels(10);
  const std::vector<Row> rows(10);
  network.gradient(
      small.initial(Initialization::fan_in, 1).data(), {labels, rows, {}}, [](auto, auto) { return 0.0; },
      [](int, function_ref<void(int)>) { FAIL("a tiny step asked for help"); });
}

TEST_CASE("another network with more room gives the same bits") {
  Fixture fixture(5);
  const Outcome expected = fixture.gradient(serially);
  const Outcome expected_sum = fixture.weighted_sum(serially);
  fixture.network = Network(fixture.model, 100);
  CHECK((fixture.gradient(serially) == expected));
  CHECK((fixture.weighted_sum(serially) == expected_sum));
}

TEST_CASE("after its first step a network asks for no memory") {
  Fixture fixture(10);
  fixture.gradient(serially);
  const Batch batch{fixture.labels, fixture.rows, {.seed = 1}};
  const auto ignore = [](std::size_t, std::span<const float>) { return 0.0; };
  const long before = allocations;
  fixture.network.gradient(fixture.weights.data(), batch, ignore);
  fixture.network.evaluate(fixture.weights.data(), fixture.labels);
  fixture.network.gradient(fixture.weights.data(), {batch.labels.first(3), batch.rows.first(3), batch.address}, ignore);
  CHECK(allocations == before);
}

TEST_CASE("after its first private step a network asks for no memory") {
  Fixture fixture(10);
  fixture.weighted_sum(serially);
  const Batch batch{fixture.labels, fixture.rows, {.seed = 1}};
  const auto ignore = [](std::size_t, std::span<const double>) { return 0.0; };
  std::vector<double> norms(10);
  const std::vector<float> factors(10, 1.0F);
  const long before = allocations;
  fixture.network.per_example(fixture.weights.data(), batch, norms);
  fixture.network.weighted_sum(factors, ignore);
  fixture.network.per_example(fixture.weights.data(), {batch.labels.first(3), batch.rows.first(3), batch.address},
                              std::span(norms).first(3));
  fixture.network.weighted_sum(std::span(factors).first(3), ignore);
  CHECK(allocations == before);
}

TEST_CASE("private steps of batch 200 need at most half as much memory again as plain ones") {
  struct Case {
    std::string_view model;
    Shape input;
  };
  const auto ignore = [](std::size_t, std::span<const float>) { return 0.0; };
  const auto ignore_sum = [](std::size_t, std::span<const double>) { return 0.0; };
  for (const auto& [name, input] :
       {Case{"adadp-cnn", {32, 32, 3}}, Case{"pfl-cnn", {32, 32, 3}}, Case{"tutorial-cnn", {28, 28, 1}},
        Case{"yu-cnn", {28, 28, 1}}, Case{"adadp-mlp", {1, 1, 784}}, Case{"logistic", {1, 1, 784}}}) {
    CAPTURE(std::string(name));
    const FloatingPointMode mode;
    const Model model = Model::parse(find_named_model(name)->line, input, 10);
    const Vector weights = model.initial(Initialization::fan_in, 1);
    const std::vector<Label> labels(200, Label{1});
    const std::vector<Row> rows(200, Row{1});
    std::vector<double> norms(200);
    const std::vector<float> factors(200, 1.0F);
    const std::size_t before_plain = allocated;
    {
      Network network(model, 200);
      std::ranges::fill(network.inputs(200), 0.5F);
      network.gradient(weights.data(), {labels, rows, {}}, ignore);
    }
    const std::size_t plain = allocated - before_plain;
    const std::size_t before_private = allocated;
    {
      Network network(model, 200);
      std::ranges::fill(network.inputs(200), 0.5F);
      network.per_example(weights.data(), {labels, rows, {}}, norms);
      network.weighted_sum(factors, ignore_sum);
    }
    const std::size_t privately = allocated - before_private;
    constexpr std::size_t kPage = 4096;
    CHECK(2 * privately <= 3 * plain + kPage);
  }
}

}  // namespace fedstride::test::network_pieces_test
