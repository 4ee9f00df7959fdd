#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/fleet_flags.hpp"
#include "client/optim/sgd.hpp"
#include "core/build_info.hpp"
#include "core/floating_point.hpp"
#include "core/function_ref.hpp"
#include "core/json.hpp"
#include "core/random.hpp"
#include "core/seconds_since.hpp"
#include "core/simd.hpp"
#include "nn/model.hpp"
#include "nn/models.hpp"
#include "nn/network.hpp"
#include "sim/mpi/ranks.hpp"

namespace fedstride {
namespace {

/// Speed of one thread on one model, on random data.
struct NetworkSpeed {
  int batch = 0;
  double step_seconds = 0;       ///< gradient and SGD update of one batch: median of many
  double flops_per_example = 0;  ///< dense arithmetic, ignoring savings from sparsity
  double evaluate_seconds = 0;   ///< forward pass only, median

  double examples_per_second() const { return batch / step_seconds; }
  double flops_per_second() const { return flops_per_example * examples_per_second(); }
};

/// Processor time of this thread in seconds, unaffected by other programs on the machine.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// The durations of calls of body(), repeated for about `seconds` and at least 5 times.
std::vector<double> times(double seconds, auto&& body) {
  std::vector<double> result;
  const double end = now() + seconds;
  while (result.size() < 5 || now() < end) {
    const double start = now();
    body();
    result.push_back(now() - start);
  }
  return result;
}

/// Keeps the compiler from computing the multiply-adds at compile time.
FEDSTRIDE_INLINE void opaque(Lanes& value) {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(value));
#elif defined(__x86_64__)
  asm volatile("" : "+x"(value));
#else
  asm volatile("" : "+m"(value));
#endif
}

/// Counts two operations for each multiply-add of the forward pass, the weight gradient and the data gradient, which the first
/// layer does not need.
double dense_flops_per_example(const Model& model) {
  double products = 0;
  bool first = true;
  for (const Parameter& parameter : model.parameters()) {
    if (parameter.role != ParameterRole::weight && parameter.role != ParameterRole::second_weight) continue;
    const Shape out = model.shapes()[static_cast<std::size_t>(parameter.layer) + 1];
    const double forward = static_cast<double>(parameter.size) * out.height * out.width;
    products += forward * (first ? 2 : 3);
    first = false;
  }
  return 2 * products;
}

/// A network, weights and a batch of random examples.
struct RandomSteps {
  RandomSteps(const Model& model, int batch) : weights(model.initial(Initialization::fan_in, 1)), network(model, batch) {
    RandomStream random(1, {.purpose = Purpose::test});
    const ExampleForm& form = model.form();
    const auto below = [&](int limit) { return random.below(static_cast<std::uint64_t>(limit)); };
    inputs.resize(static_cast<std::size_t>(batch) * form.shape.size());
    for (float& value : inputs)
      value = form.vocabulary > 0 ? static_cast<float>(below(form.vocabulary)) : static_cast<float>(random.normal());
    std::ranges::copy(inputs, network.inputs(batch).begin());
    for (int row = 0; row < batch; ++row) rows.push_back(static_cast<Row>(row));
    for (std::size_t i = 0; i < rows.size() * form.answers(); ++i) labels.push_back(static_cast<Label>(below(form.outputs)));
  }

  /// Returns the same examples each time, as the batch of the next step.
  Batch next() { return {labels, rows, {.seed = 1, .step = step++}}; }

  double gradient(const float* at, GradientSink sink) { return network.gradient(at, next(), sink).sink_sum; }

  /// Returns a number of steps large enough that the clock's resolution does not matter.
  int steps_at_once() const {
    const double flops = static_cast<double>(rows.size()) * dense_flops_per_example(network.model());
    return std::clamp(static_cast<int>(2e6 / flops), 1, 1000);
  }

  Vector weights;
  Network network;
  std::vector<float> inputs;
  std::vector<Label> labels;
  std::vector<Row> rows;
  std::uint32_t step = 0;
};

/// Measures steps of `batch` random examples for about `seconds`.
NetworkSpeed measure_network(const Model& model, int batch, double seconds) {
  const FloatingPointMode mode;
  RandomSteps random(model, batch);
  // So small that neither the weights nor the share of zero activations changes.
  constexpr double kRate = 1e-6;
  const int steps = random.steps_at_once();
  const auto gradient = [&](const float* weights, GradientSink sink) { return random.gradient(weights, sink); };
  const auto step_times = times(seconds, [&] {
    for (int step = 0; step < steps; ++step) sgd_step(random.weights, gradient, kRate);  // the same code as in training
  });
  const auto evaluate_times = times(seconds / 4, [&] {
    for (int step = 0; step < steps; ++step) random.network.evaluate(random.weights.data(), random.labels);
  });
  return {.batch = batch,
          .step_seconds = median(step_times) / steps,
          .flops_per_example = dense_flops_per_example(model),
          .evaluate_seconds = median(evaluate_times) / steps};
}

/// Measures the peak of one core, in floating-point operations per second, with independent fused multiply-adds in registers;
/// returns the best of several runs.
double measure_fp32_peak() {
  constexpr int kChains = kRegisters == 32 ? 24 : 12;
  constexpr int kRounds = 10'000;
  const auto runs = times(0.1, [&] {
    Lanes sum[kChains];
    unrolled<kChains>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { sum[i] = broadcast(static_cast<float>(i)); });
    Lanes factor = broadcast(0.5F), addend = broadcast(1.0F);
    opaque(factor);
    opaque(addend);
    for (int round = 0; round < kRounds; ++round)
      unrolled<kChains>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { sum[i] = fma(sum[i], factor, addend); });
    unrolled<kChains>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { opaque(sum[i]); });
  });
  return 2.0 * kLanes * kChains * kRounds / *std::min_element(runs.begin(), runs.end());
}

/// The cost of one round's messages between ranks: medians in seconds on rank 0, measured from the time all ranks are ready.
struct RanksSpeed {
  double sum = 0;        ///< summing the integers of a model
  double broadcast = 0;  ///< broadcasting the model
  double answers = 0;    ///< gathering 1 KiB from each rank
};

// Before each repetition, rank 0 broadcasts whether there is another; no rank starts before all are ready.
double median_of(Ranks& ranks, double seconds, function_ref<void()> exchange) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<double> times;
  for (;;) {
    ranks.gather({}, 0);
    std::string again(1, times.size() < 3 || seconds_since(begin) < seconds ? 'y' : 'n');
    ranks.broadcast(again, 1);
    if (again[0] == 'n') break;
    const auto start = std::chrono::steady_clock::now();
    exchange();
    ranks.gather({}, 0);
    times.push_back(seconds_since(start));
  }
  return median(std::move(times));
}

/// Measures each cost for about `seconds`, for a model with `parameters` numbers. All ranks must call this; only rank 0's result
/// is meaningful.
RanksSpeed measure_ranks(Ranks& ranks, std::size_t parameters, double seconds) {
  std::vector<__int128> integers(parameters, ranks.rank());
  std::vector<float> numbers(parameters);
  const std::string answer(1024, 'x');
  return {.sum = median_of(ranks, seconds, [&] { ranks.sum(integers); }),
          .broadcast = median_of(ranks, seconds, [&] { ranks.broadcast(std::span(numbers)); }),
          .answers = median_of(ranks, seconds, [&] { ranks.gather(answer, answer.size()); })};
}

struct BenchFlags {
  FleetFlags fleet;
  std::string model;
  std::optional<int> batch;
  double seconds = 1;
  bool json = false;

  /// Batch sizes to measure: several by default, because speed may drop at some of them.
  std::vector<int> batches() const { return batch ? std::vector{*batch} : std::vector{10, 50, 100}; }
};

/// Returns the form of the examples that a named model expects, or 32x32 color images in 10 classes for any other line.
ExampleForm form_for(std::string_view model) {
  const NamedModel* named = find_named_model(model);
  return named == nullptr ? ExampleForm{{32, 32, 3}, 10} : named->form;
}

// A network and the examples it is measured on.
struct Case {
  std::string name;
  std::string line = name;
  ExampleForm form = form_for(line);
};

// The networks measured by default.
const Case kCases[] = {
    {"adadp-cnn"},        {"pfl-cnn"},     {"874-parameter MLP", "dense 32 | relu | dense classes", {{1, 1, 16}, 10}},
    {"resnet20-gn"},      {"femnist-cnn"}, {"leaf-lstm"},
    {"small-transformer"}};

Json measure(const Case& one, int batch, const BenchFlags& flags, double peak) {
  const NetworkSpeed speed = measure_network(Model::parse(one.line, one.form), batch, flags.seconds);
  const double evaluated = speed.batch / speed.evaluate_seconds;
  if (!flags.json)
    std::printf(
        "%-18s batch %3d: %9.0f examples/s  %8.1f us a step  %6.1f GFLOP/s  %3.0f %% of peak  (forward only: %.0f "
        "examples/s)\n",
        one.name.c_str(), speed.batch, speed.examples_per_second(), speed.step_seconds * 1e6, speed.flops_per_second() * 1e-9,
        100 * speed.flops_per_second() / peak, evaluated);
  return {{"name", one.name},
          {"batch", speed.batch},
          {"examples_per_second", speed.examples_per_second()},
          {"step_seconds", speed.step_seconds},
          {"flops_per_second", speed.flops_per_second()},
          {"share_of_peak", speed.flops_per_second() / peak},
          {"evaluated_examples_per_second", evaluated}};
}

// Measures a round's messages between the ranks of a job.
void bench_ranks(const BenchFlags& arguments) {
  const auto ranks = join_ranks(arguments.fleet, nullptr);
  const std::string line = arguments.model.empty() ? "adadp-cnn" : arguments.model;
  const std::size_t parameters = Model::parse(line, {32, 32, 3}, 10).size();
  const RanksSpeed speed = measure_ranks(*ranks, parameters, arguments.seconds);
  if (ranks->rank() > 0) return;
  std::printf("%d ranks, %s (%zu parameters): sum %.2f ms, model to all %.2f ms, 1 KiB from each %.3f ms\n", ranks->size(),
              line.c_str(), parameters, speed.sum * 1e3, speed.broadcast * 1e3, speed.answers * 1e3);
}

void bench(const BenchFlags& arguments) {
  const BuildInfo build = build_info();
  const double peak = measure_fp32_peak();
  if (!arguments.json)
    std::printf(
        "fedstride %s, %s, %s; one thread; measured fp32 peak %.1f GFLOP/s\n"
        "A step is the gradient of one batch of random data and an SGD update. GFLOP/s count the dense arithmetic of the\n"
        "forward pass and both gradients, even where sparsity or a faster algorithm avoids it: more than 100 %% is possible.\n",
        build.version.c_str(), build.compiler.c_str(), build.instruction_set.c_str(), peak * 1e-9);
  Json json{{"version", build.version},
            {"compiler", build.compiler},
            {"instruction_set", build.instruction_set},
            {"peak_flops_per_second", peak}};
  Json& steps = json["steps"] = Json::array();
  const auto measure_batches = [&](const Case& one) {
    for (const int batch : arguments.batches()) steps.push_back(measure(one, batch, arguments, peak));
  };
  if (!arguments.model.empty()) {
    measure_batches({arguments.model});
  } else {
    for (const Case& one : kCases) measure_batches(one);
  }
  if (arguments.json) print_json(json);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  const auto [command, flags] =
      add_command<BenchFlags>(app, "bench", "Measure the speed of one training thread, or of messages between MPI ranks.",
                              "Example: fedstride bench --model pfl-cnn --batch 50",
                              [](const BenchFlags& given) { given.fleet.on_ranks() ? bench_ranks(given) : bench(given); });
  add_flag(command, "--model", flags.model, {.word = "NAME", .known = known_models()},
           "a named model, or layers for 32x32x3 images (default: seven models in turn)");
  add_number_flag(command, "--batch", flags.batch, {.low = 1, .high = 100000},
                  "examples per batch (default: 10, 50 and 100 in turn)");
  add_number_flag(command, "--seconds", flags.seconds, {.low = 0, .high = 600, .low_included = false}, "seconds per measurement");
  add_json_switch(command, flags.json);
  add_fleet_flags(command, flags.fleet);
}

}  // namespace fedstride
