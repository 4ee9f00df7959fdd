#include "dp/correlations/buffered_toeplitz.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/accountants/minimize.hpp"
#include "dp/correlations/toeplitz.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxBuffers = 10;
constexpr std::size_t kMaxBufferedSteps = std::size_t{1} << 20;

/// ln(sens(C) x the largest error over the steps), in O(steps x buffers).
double log_buffered_loss(const BufferedToeplitz& toeplitz, std::size_t steps, const Participation& participation) {
  BufferedStream stream(toeplitz);
  double prefix = 0, error = 0;
  for (std::size_t t = 0; t < steps; ++t) {
    prefix += stream.invert(t == 0 ? 1 : 0);
    error += prefix * prefix;
  }
  // The worst pattern is the earliest rounds `separation` apart. C times a stream with ones at these rounds is the sum of its
  // columns.
  BufferedStream pattern(toeplitz);
  const std::size_t most = most_participations(steps, participation);
  double size = 0;
  for (std::size_t t = 0; t < steps; ++t) {
    const bool is_in = t % participation.separation == 0 && t / participation.separation < most;
    const double value = pattern.multiply(is_in ? 1 : 0);
    size += value * value;
  }
  return std::log(error * size) / 2;
}

/// The matrix for the free parameters: log scales, then logit decays.
BufferedToeplitz buffered_at(std::span<const double> at) {
  const std::size_t buffers = at.size() / 2;
  BufferedToeplitz toeplitz;
  for (std::size_t i = 0; i < buffers; ++i) {
    toeplitz.scale.push_back(std::exp(at[i]));
    toeplitz.decay.push_back(1 / (1 + std::exp(-at[buffers + i])));
  }
  return toeplitz;
}

bool is_buffered(const BufferedToeplitz& toeplitz) {
  double sum = 0;
  for (const double scale : toeplitz.scale) {
    if (!(scale > 0)) return false;
    sum += scale;
  }
  return sum <= 1 && std::ranges::all_of(toeplitz.decay, [](double decay) { return decay > 0 && decay < 1; });
}

void check_buffers(std::size_t buffers, std::size_t steps) {
  if (buffers == 0 || buffers > kMaxBuffers)
    throw usage_error("buffers are " + std::to_string(buffers) + "; valid: 1 to " + std::to_string(kMaxBuffers));
  if (steps == 0 || steps > kMaxBufferedSteps)
    throw usage_error("steps are " + std::to_string(steps) + "; valid: 1 to " + std::to_string(kMaxBufferedSteps));
}

}  // namespace

void check_buffered(const BufferedToeplitz& toeplitz) {
  if (toeplitz.scale.empty() || toeplitz.scale.size() > kMaxBuffers || toeplitz.scale.size() != toeplitz.decay.size())
    throw usage_error("a buffered Toeplitz matrix has " + std::to_string(toeplitz.scale.size()) + " scales and " +
                      std::to_string(toeplitz.decay.size()) + " decays; valid: 1 to 10 of each");
  if (!is_buffered(toeplitz))
    throw usage_error("a buffered Toeplitz matrix needs scales above 0 whose sum is at most 1, and decays between 0 and 1");
}

std::vector<double> BufferedToeplitz::coefficients(std::size_t steps) const {
  BufferedStream stream(*this);
  std::vector<double> c(steps);
  for (std::size_t t = 0; t < steps; ++t) c[t] = stream.multiply(t == 0 ? 1 : 0);
  return c;
}

BufferedStream::BufferedStream(BufferedToeplitz toeplitz)
    : toeplitz_(std::move(toeplitz)), buffers_(toeplitz_.scale.size(), 0.0) {}

double BufferedStream::inner() const {
  return std::inner_product(buffers_.begin(), buffers_.end(), toeplitz_.scale.begin(), 0.0);
}

void BufferedStream::push(double x) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i] = toeplitz_.decay[i] * buffers_[i] + x;
}

double BufferedStream::multiply(double x) {
  const double y = x + inner();
  push(x);
  return y;
}

double BufferedStream::invert(double y) {
  const double x = y - inner();
  push(x);
  return x;
}

BufferedToeplitz rational_buffered_toeplitz(std::size_t buffers) {
  check_buffers(buffers, 1);
  // This step and the offset below bring the first ten coefficients closest to the optimal ones.
  const double width = 0.8 * std::numbers::pi / std::sqrt(2 * (std::ceil(static_cast<double>(buffers) / 2) + 1));
  BufferedToeplitz toeplitz;
  for (std::size_t i = 0; i < buffers; ++i) {
    const double u = (static_cast<double>(i) - (static_cast<double>(buffers) - 1) / 2 - 1.25) * width;
    const double decay = 1 / (1 + std::exp(2 * u));
    toeplitz.decay.push_back(decay);
    toeplitz.scale.push_back(2 / std::numbers::pi * width * std::exp(u) * decay * decay);
  }
  return toeplitz;
}

BufferedToeplitz optimal_buffered_toeplitz(std::size_t buffers, std::size_t steps, const Participation& participation) {
  check_buffers(buffers, steps);
  const BufferedToeplitz first = rational_buffered_toeplitz(buffers);
  if (participation.separation == 0) throw usage_error("separation is 0; it must be at least 1");
  std::vector<double> start;
  for (const double scale : first.scale) start.push_back(std::log(scale));
  for (const double decay : first.decay) start.push_back(std::log(decay / (1 - decay)));
  const auto value = [&](std::span<const double> at) {
    const BufferedToeplitz toeplitz = buffered_at(at);
    return is_buffered(toeplitz) ? log_buffered_loss(toeplitz, steps, participation) : std::numeric_limits<double>::infinity();
  };
  const auto with_gradient = [&](std::span<const double> at, std::span<double> gradient) {
    const double here = value(at);
    if (!std::isfinite(here)) return here;
    std::vector<double> moved(at.begin(), at.end());
    constexpr double kStep = 1e-5;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      moved[i] = at[i] + kStep;
      const double above = value(moved);
      moved[i] = at[i] - kStep;
      const double below = value(moved);
      moved[i] = at[i];
      gradient[i] = std::isfinite(above) && std::isfinite(below) ? (above - below) / (2 * kStep) : 0;
    }
    return here;
  };
  return buffered_at(minimize(std::move(start), 100, with_gradient));
}

}  // namespace fedstride
