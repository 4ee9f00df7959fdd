#include "cli/network_bench.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

#include "client/optim/sgd.hpp"
#include "core/floating_point.hpp"
#include "core/random.hpp"
#include "core/simd.hpp"
#include "nn/network.hpp"

namespace fedstride {
namespace {

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

}  // namespace

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
      unrolled<kChains>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { sum[i] = sum[i] * factor + addend; });
    unrolled<kChains>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { opaque(sum[i]); });
  });
  return 2.0 * kLanes * kChains * kRounds / *std::min_element(runs.begin(), runs.end());
}

}  // namespace fedstride
