#include "client/optim/adadp.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "client/optim/half_steps.hpp"
#include "client/optim/lane_sum.hpp"
#include "client/optim/sgd.hpp"

namespace fedstride {
namespace {

/// The choices that the preset makes, unless settings override them.
struct Rule {
  bool full_step;                          ///< the next iterate is theta_full
  bool root;                               ///< the factor is sqrt(tolerance / err)
  TooLong too_long = TooLong::undo;        ///< the treatment of a step whose error is above the tolerance
  TooLong too_long_noisy = TooLong::keep;  ///< the same, if gradients contain noise
};

// Indexed by AdadpPreset.
constexpr Rule kPresets[] = {
    {.full_step = false, .root = false},
    {.full_step = true, .root = false},
    {.full_step = false, .root = true, .too_long_noisy = TooLong::undo},
};
static_assert(std::size(kPresets) == kChoiceNames<AdadpPreset>.size());

Rule rule_of(const Adadp& adadp) {
  Rule rule = kPresets[static_cast<std::size_t>(adadp.preset)];
  if (adadp.noisy) rule.too_long = rule.too_long_noisy;
  if (adadp.next_iterate != NextIterate::preset) rule.full_step = adadp.next_iterate == NextIterate::full_step;
  if (adadp.factor != RateFactor::preset) rule.root = adadp.factor == RateFactor::root;
  if (adadp.too_long != TooLong::preset) rule.too_long = adadp.too_long;
  return rule;
}

void first_half(float* __restrict weights, const float* __restrict gradient, std::size_t size, float half_rate) {
  for (std::size_t i = 0; i < size; ++i) weights[i] -= half_rate * gradient[i];
}

/// The largest error of a single weight in a step; any thread may call enter().
class LargestError {
 public:
  void enter(float error) {
    float known = largest_.load(std::memory_order_relaxed);
    while (error > known && !largest_.compare_exchange_weak(known, error, std::memory_order_relaxed)) {
    }
  }
  double value() const { return static_cast<double>(largest_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<float> largest_ = 0;
};

/// Replaces the half step with the next iterate. Returns the sum of squared errors, which is NaN or infinite unless all
/// intermediate numbers are finite (dividing by an infinite theta_full would hide the error). `largest`, if not null, receives
/// the largest error.
template <bool kFullStep, bool kRelative>
double second_half(const float* __restrict theta, float* __restrict half, const float* __restrict gradient, std::size_t size,
                   float half_rate, LargestError* largest) {
  float most[kSumLanes] = {};
  const double sum = block_sum(size, [&](std::size_t from, std::size_t count, double* squares) FEDSTRIDE_INLINE_LAMBDA {
    prefetch_saved(theta + from);
    float errors[kSumLanes];
    float fulls[kSumLanes];
    float nexts[kSumLanes];
    int above = 0;
    for (std::size_t lane = 0; lane < count; ++lane) {
      const std::size_t i = from + lane;
      const float moved = half[i] - theta[i];          // -eta/2 G1
      fulls[lane] = theta[i] + 2 * moved;              // theta_full
      errors[lane] = moved + half_rate * gradient[i];  // theta_full - theta_hat without cancellation
      nexts[lane] = kFullStep ? fulls[lane] : half[i] - half_rate * gradient[i];
      half[i] = nexts[lane];
      above |= static_cast<int>(std::abs(fulls[lane]) > 1.0F);
    }
    // Few weights exceed 1, and dividing the others by 1 would cost more than everything else.
    if (kRelative && above != 0)
      for (std::size_t lane = 0; lane < count; ++lane) errors[lane] /= std::max(1.0F, std::abs(fulls[lane]));
    for (std::size_t lane = 0; lane < count; ++lane) {
      const auto finite = static_cast<double>(errors[lane] + 0.0F * (nexts[lane] + fulls[lane]));  // 0 x infinity is NaN
      squares[lane] += finite * finite;
    }
    if (largest != nullptr)
      for (std::size_t lane = 0; lane < count; ++lane) most[lane] = std::max(most[lane], std::abs(errors[lane]));
  });
  if (largest != nullptr) largest->enter(*std::ranges::max_element(most));
  return sum;
}

using SecondHalf = double (*)(const float*, float*, const float*, std::size_t, float, LargestError*);
constexpr SecondHalf kSecondHalf[2][2] = {{second_half<false, false>, second_half<false, true>},
                                          {second_half<true, false>, second_half<true, true>}};

/// `ratio` limited to [low, high]; NaN becomes `low`.
double limited(double ratio, double low, double high) { return ratio > low ? std::min(ratio, high) : low; }

}  // namespace

StepReport Adadp::step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const {
  if (!adapts(progress)) {
    const double decayed = learning_rate(state, progress);
    sgd_step(weights, gradient, decayed);
    return {.learning_rate = decayed};
  }
  const Rule rule = rule_of(*this);
  if (scratch.size() != weights.size()) scratch.assign(weights.size(), 0);
  const double rate = state.learning_rate;
  const auto half_rate = static_cast<float>(rate / 2);
  float* half = weights.data();
  float* theta = scratch.data();

  const bool bypass = bypasses_caches(weights.size());
  gradient(half, [&](std::size_t offset, std::span<const float> stretch) {
    save_stretch(half + offset, theta + offset, stretch.size(), bypass);
    first_half(half + offset, stretch.data(), stretch.size(), half_rate);
    return 0.0;
  });
  const SecondHalf second_half = kSecondHalf[rule.full_step][error_norm == ErrorNorm::relative];
  LargestError largest;
  LargestError* const wanted = test == LengthTest::element ? &largest : nullptr;
  const double error = std::sqrt(gradient(half, [&](std::size_t offset, std::span<const float> stretch) {
    return second_half(theta + offset, half + offset, stretch.data(), stretch.size(), half_rate, wanted);
  }));

  const double aim = tolerance.is_auto ? tolerance_within(state.told, progress) : tolerance.value;
  const double ratio = aim / error;
  const double change = limited(safety * (rule.root ? std::sqrt(ratio) : ratio), minimum_factor, maximum_factor);
  state.learning_rate = std::clamp(rate * change, 1e-30, 1e30);
  const double tested = wanted != nullptr ? largest.value() : error;
  const bool is_long = !(tested <= aim);
  const bool accepted = std::isfinite(error) && !(is_long && rule.too_long == TooLong::undo);
  StepReport report{.learning_rate = rate, .accepted = accepted, .error = error};
  if (!accepted) {
    weights.swap(scratch);
    report.kept = 0;
  } else if (is_long && rule.too_long == TooLong::clip) {
    report.kept = aim / tested;
    shorten(scratch, weights, report.kept);
  }
  return report;
}

}  // namespace fedstride
