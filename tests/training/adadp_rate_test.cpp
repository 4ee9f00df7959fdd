// Takes 35 s of processor time: 15,000 iterations of 334,336 weights, the length at which the paper's prediction holds.
#include <doctest/doctest.h>

#include <cmath>

#include "client/optim/adadp.hpp"
#include "core/eigen.hpp"
#include "dp/noise/clipped_sum.hpp"

namespace fedstride::test::adadp_rate_test {
namespace {

// The network of Koskela & Honkela's private MNIST runs, every gradient zero: what moves is noise alone.
constexpr std::size_t kParameters = 334'336;
constexpr double kClip = 3;
constexpr double kBatch = 200;

struct ZeroLot {
  bool computed = false;
  std::vector<double> lengths = std::vector<double>(1, 0.0);

  bool next() { return !std::exchange(computed, true); }
  std::span<const double> norms() const { return lengths; }
  void weighted_sum(std::span<const float>, SumSink sink) {
    static const std::vector<double> zeros(kParameters);
    sink(0, zeros);
  }
};

struct NoiseRun {
  double rate = 0;       ///< mean over the last hundred steps
  double deviation = 0;  ///< of the weights at the end
  std::uint64_t charged = 0;
};

NoiseRun run_on_noise(double noise_multiplier, int steps, AdadpPreset preset) {
  Adadp adadp;
  adadp.preset = preset;
  adadp.tolerance.value = 1;
  adadp.noisy = true;
  std::vector<GradientStretch> stretches;
  append_stretches(stretches, 0, kParameters, false);
  ClippedSum sum(stretches);
  Meter meter(2 * static_cast<std::uint64_t>(steps));
  LotReport report;
  std::uint32_t step = 0;
  const auto gradient = [&](const float*, GradientSink sink) {
    ZeroLot lot;
    return sum.release(lot,
                       {.clip = kClip,
                        .noise_multiplier = noise_multiplier,
                        .denominator = kBatch,
                        .source = RandomSource(std::uint64_t{1}),
                        .address = {.purpose = Purpose::noise, .round = 1, .step = step++}},
                       meter, sink, serially, report);
  };
  Adadp::State state;
  Vector scratch;
  adadp.start(state, kParameters);
  Vector weights(kParameters);
  NoiseRun result;
  for (int i = 0; i < steps; ++i) {
    const StepReport outcome = adadp.step(state, scratch, weights, Gradient(gradient), {});
    if (i >= steps - 100) result.rate += outcome.learning_rate / 100;
  }
  result.deviation = std::sqrt(eigen(weights).cast<double>().squaredNorm() / static_cast<double>(kParameters));
  for (const auto& runs : meter.runs()) result.charged += runs.count;
  return result;
}

}  // namespace

// With noise alone err = eta sigma C sqrt(d / 2) / B in mean-gradient unit; the rate settles where that is the tolerance.
TEST_CASE("on noise alone ADADP settles at B tol sqrt(2) / (sigma C sqrt(d))") {
  for (const auto& [noise_multiplier, rate] : {std::pair{2.0, 0.0815}, {4.0, 0.0408}, {8.0, 0.0204}}) {
    CAPTURE(noise_multiplier);
    const NoiseRun run = run_on_noise(noise_multiplier, 200, AdadpPreset::ours);
    CHECK(std::abs(run.rate / rate - 1) < 0.01);
    CHECK(run.charged == 400);
  }
}

// A step keeps the half-steps point (variance eta^2 s^2 / 2 a weight, s = sigma C / B) or the full step (eta^2 s^2).
// After 15,000 iterations the deviations are 0.2118 and 0.2995; the full step is looked at after a fifth of them.
TEST_CASE("the weights have walked as far as two half steps, or one full step, of noise an iteration carry them") {
  CHECK(std::abs(run_on_noise(2, 15'000, AdadpPreset::ours).deviation / 0.2118 - 1) < 0.01);
  CHECK(std::abs(run_on_noise(2, 3'000, AdadpPreset::paper).deviation / (0.2995 / std::sqrt(5.0)) - 1) < 0.01);
}

}  // namespace fedstride::test::adadp_rate_test
