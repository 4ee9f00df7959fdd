#include "optim/adadp.hpp"

#include <algorithm>
#include <cmath>

#include "optim/lane_sum.hpp"
#include "optim/sgd.hpp"

namespace fedstride {
namespace {

/// The preset that the strings of the settings select.
struct Rule {
  bool full_step;              ///< the next iterate is theta_full
  bool root;                   ///< the factor is sqrt(tolerance / err)
  bool discard;                ///< a step with err > tolerance is undone
  bool discard_noisy = false;  ///< the same where the gradients carry noise
};

// By AdadpPreset.
constexpr Rule kPresets[] = {
    {.full_step = false, .root = false, .discard = true},
    {.full_step = true, .root = false, .discard = true},
    {.full_step = false, .root = true, .discard = true, .discard_noisy = true},
};
static_assert(std::size(kPresets) == kChoiceNames<AdadpPreset>.size());

Rule rule_of(const Adadp& adadp) {
  Rule rule = kPresets[static_cast<std::size_t>(adadp.preset)];
  if (adadp.noisy) rule.discard = rule.discard_noisy;
  if (adadp.next_iterate != NextIterate::preset) rule.full_step = adadp.next_iterate == NextIterate::full_step;
  if (adadp.factor != RateFactor::preset) rule.root = adadp.factor == RateFactor::root;
  if (adadp.discard != Discard::preset) rule.discard = adadp.discard == Discard::on;
  return rule;
}

void first_half(const float* __restrict theta, float* __restrict half, const float* __restrict gradient, std::size_t size,
                float half_rate) {
  for (std::size_t i = 0; i < size; ++i) half[i] = theta[i] - half_rate * gradient[i];
}

/// Puts the next iterate in the place of the half step; returns the sum of the squared errors: NaN or infinite unless
/// every intermediate number is finite (an infinite theta_full would else divide its error to nothing).
template <bool kFullStep, bool kRelative>
double second_half(const float* __restrict theta, float* __restrict half, const float* __restrict gradient, std::size_t size,
                   float half_rate) {
  return lane_sum(size, [&](std::size_t i) {
    const float moved = half[i] - theta[i];                    // -eta/2 G1
    const float full = theta[i] + 2 * moved;                   // theta_full
    const float difference = moved + half_rate * gradient[i];  // theta_full - theta_hat, without its cancellation
    const float next = kFullStep ? full : half[i] - half_rate * gradient[i];
    half[i] = next;
    const float error = kRelative ? difference / std::max(1.0F, std::abs(full)) : difference;
    const auto finite = static_cast<double>(error + 0.0F * (next + full));  // 0 x infinity is NaN
    return finite * finite;
  });
}

using SecondHalf = double (*)(const float*, float*, const float*, std::size_t, float);
constexpr SecondHalf kSecondHalf[2][2] = {{second_half<false, false>, second_half<false, true>},
                                          {second_half<true, false>, second_half<true, true>}};

/// The factor for the rate; NaN gives the smallest.
double limited(double ratio, double low, double high) { return ratio > low ? std::min(ratio, high) : low; }

}  // namespace

StepReport Adadp::step(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const {
  if (!adapts(progress)) {
    const double decayed = learning_rate(state, progress);
    sgd_step(weights, gradient, decayed);
    return {.learning_rate = decayed};
  }
  const Rule rule = rule_of(*this);
  if (scratch.half.size() != weights.size()) scratch.half.assign(weights.size(), 0);
  const double rate = state.learning_rate;
  const auto half_rate = static_cast<float>(rate / 2);
  const float* theta = weights.data();
  float* half = scratch.half.data();

  gradient(theta, [&](std::size_t offset, std::span<const float> stretch) {
    first_half(theta + offset, half + offset, stretch.data(), stretch.size(), half_rate);
    return 0.0;
  });
  const SecondHalf second_half = kSecondHalf[rule.full_step][error_norm == ErrorNorm::relative];
  const double error = std::sqrt(gradient(half, [&](std::size_t offset, std::span<const float> stretch) {
    return second_half(theta + offset, half + offset, stretch.data(), stretch.size(), half_rate);
  }));

  const double ratio = tolerance / error;
  const double change = limited(safety * (rule.root ? std::sqrt(ratio) : ratio), minimum_factor, maximum_factor);
  state.learning_rate = std::clamp(rate * change, 1e-30, 1e30);
  const bool accepted = rule.discard ? error <= tolerance : std::isfinite(error);
  if (accepted) weights.swap(scratch.half);
  return {.learning_rate = rate, .accepted = accepted, .error = error};
}

}  // namespace fedstride
