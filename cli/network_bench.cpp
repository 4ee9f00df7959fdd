#include "cli/network_bench.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "client/objective_at_client.hpp"
#include "client/optim/sgd.hpp"
#include "client/private_lots.hpp"
#include "core/floating_point.hpp"
#include "core/random.hpp"
#include "core/simd.hpp"
#include "dp/correlations/correlation.hpp"
#include "dp/noise/client_release.hpp"
#include "dp/noise/correlated_noise.hpp"
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
  RandomSteps(const Model& model, int batch, const std::vector<bool>& frozen)
      : weights(model.initial(Initialization::fan_in, 1)), network(model, batch, frozen) {
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

/// A batch as a lot with one part.
struct WholeBatch {
  Network& network;
  const float* weights;
  Batch batch;
  std::vector<double>& lengths;
  bool computed = false;

  bool next() {
    if (std::exchange(computed, true)) return false;
    network.per_example(weights, batch, lengths);
    return true;
  }
  std::span<const double> norms() const { return lengths; }
  void weighted_sum(std::span<const float> factors, SumSink sink) { network.weighted_sum(factors, sink); }
};

// Steps of an optimizer under a local objective. A learning rate, if the optimizer has one, is too small to change the weights.
struct MeasuredSteps {
  MeasuredSteps(Optimizer chosen, const LocalObjective& chosen_objective)
      : optimizer(std::move(chosen)), objective(chosen_objective), at_client(*objective, *optimizer, {}) {
    if (const SettingInfo* rate = optimizer.part().find("learning-rate")) optimizer.part().set(*rate, 1e-12);
  }

  // Returns the seconds that this many steps take.
  double time(RandomSteps& random, int steps) {
    const Vector model = random.weights;
    const Vector beside(objective->hears() ? model.size() : 0);
    at_client.begin({.model = model, .beside = view(beside)}, kept);
    optimizer->start(*state, model.size());  // adaptive rates must grow again
    const auto gradient = [&](const float* weights, GradientSink sink) {
      const auto through = [&](std::size_t offset, std::span<const float> stretch) {
        return at_client.emit(weights, offset, stretch, sink);
      };
      return random.gradient(weights, at_client.corrected().is_plain() ? sink : GradientSink(through));
    };
    const double start = now();
    for (int step = 0; step < steps; ++step) at_client.record(optimizer->step(*state, scratch, random.weights, gradient, {}));
    const double seconds = now() - start;
    random.weights = model;
    return seconds;
  }

  Optimizer optimizer;
  LocalObjective objective;
  ObjectiveAtClient at_client;
  std::unique_ptr<PartState> state = optimizer->make_state();
  Vector scratch;
  Vector kept;
};

Optimizer plain_sgd() {
  Optimizer sgd;
  sgd.choose("sgd");
  return sgd;
}

OptimizerSpeed measure_against_sgd(const Model& model, int batch, MeasuredSteps&& other, double seconds) {
  const FloatingPointMode mode;
  RandomSteps random(model, batch, {});
  MeasuredSteps sgd(plain_sgd(), LocalObjective());
  const int gradients = other.optimizer->gradients_per_step();
  constexpr int kStepsOfARound = 20;  // starting a round touches memory that steps do not
  const int steps = std::max(kStepsOfARound, random.steps_at_once());
  std::vector<double> step_times, ratios;
  times(seconds, [&] {
    const double sgd_time = sgd.time(random, steps * gradients) / (steps * gradients);
    step_times.push_back(other.time(random, steps) / (steps * gradients));
    ratios.push_back(step_times.back() / sgd_time);
  });
  return {median(step_times), median(ratios)};
}

}  // namespace

NetworkSpeed measure_network(const Model& model, int batch, double seconds) {
  const FloatingPointMode mode;
  RandomSteps random(model, batch, {});
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

PrivateSpeed measure_private(const Model& model, int batch, const std::vector<bool>& frozen, double seconds) {
  const FloatingPointMode mode;
  RandomSteps random(model, batch, frozen);
  Vector sum = random.weights;
  const auto keep = [&](std::size_t offset, std::span<const float> gradient) {
    std::copy(gradient.begin(), gradient.end(), sum.data() + offset);
    return 0.0;
  };
  const int steps = random.steps_at_once();
  ClippedSum clipped(gradient_stretches(model, frozen));
  Meter meter(std::numeric_limits<std::uint64_t>::max());
  LotReport report;
  ReleaseRules rules{.denominator = static_cast<double>(batch),
                     .most_examples = static_cast<double>(batch),
                     .source = RandomSource(std::uint64_t{1}),
                     .address = {.purpose = Purpose::test, .round = 1}};
  std::vector<double> norms(random.rows.size()), plain_times, private_times, ratios;
  times(seconds, [&] {
    const double start = now();
    for (int step = 0; step < steps; ++step) random.network.gradient(random.weights.data(), random.next(), keep);
    const double middle = now();
    for (int step = 0; step < steps; ++step, ++rules.address.step) {
      WholeBatch lot{random.network, random.weights.data(), random.next(), norms};
      clipped.release(lot, rules, meter, keep, serially, report);
    }
    plain_times.push_back((middle - start) / steps);
    private_times.push_back((now() - middle) / steps);
    ratios.push_back(private_times.back() / plain_times.back());
  });
  return {median(plain_times), median(private_times), median(ratios)};
}

OptimizerSpeed measure_optimizer(const Model& model, int batch, const Optimizer& optimizer, double seconds) {
  return measure_against_sgd(model, batch, MeasuredSteps(optimizer, LocalObjective()), seconds);
}

OptimizerSpeed measure_objective(const Model& model, int batch, const LocalObjective& objective, double seconds) {
  return measure_against_sgd(model, batch, MeasuredSteps(plain_sgd(), objective), seconds);
}

CodeSpeed measure_compression(const UpCompression& compression, double seconds) {
  const FloatingPointMode mode;
  Vector weights(1000000);
  RandomStream random(1, {.purpose = Purpose::test});
  for (float& weight : weights) weight = static_cast<float>(1e-3 * random.normal());
  const CodeAddress address{.seed = 1, .round = 1, .client = 0};
  CodeSpeed speed;
  std::string code;
  speed.encode_seconds = median(times(seconds / 2, [&] {
    code.clear();
    compression->encode(view(std::as_const(weights)), address, code);
  }));
  speed.decode_seconds = median(times(seconds / 2, [&] { compression->decode(code, address, view(weights)); }));
  speed.bytes = code.size();
  return speed;
}

OptimizerSpeed measure_noise(const MechanismPart& mechanism, double seconds) {
  const FloatingPointMode mode;
  constexpr std::uint64_t kSeparation = 4, kRounds = 2000;
  const Correlation correlation = plan_correlation(mechanism, kSeparation, kRounds);
  ExactSum sum(1'000'000);
  const RandomSource source(std::uint64_t{1});
  CorrelatedNoise noise(correlation, sum.size());
  const NoiseGrid grid = noise_grid(1e-3, 1, 2 * kRounds * static_cast<double>(sum.size()));
  std::vector<double> ratios;
  const std::vector<double> all = times(seconds, [&] {
    const double start = now();
    add_noise(sum, {.grid = grid}, source, {.purpose = Purpose::client_noise, .round = noise.rounds() + 1});
    const double middle = now();
    if (noise.rounds() == kRounds) noise = CorrelatedNoise(correlation, sum.size());
    noise.add(sum, grid, source, noise.rounds() + 1);
    const double end = now();
    ratios.push_back((end - middle) / (middle - start));
  });
  const double ratio = median(ratios);
  return {.step_seconds = median(all) * ratio / (1 + ratio), .ratio = ratio};
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
