#include "dp/accountants/tight_contour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace fedstride::tight {
namespace {

constexpr double kRootTwoPi = 2.5066282746310002;
constexpr double kAliasing = 16;       // in the exponent: what the period lets through, against delta
constexpr double kTail = 14;           // likewise what lies beyond the end
constexpr double kRounding = 1e-11;    // relative, of sums and exponentials
constexpr std::size_t kBlock = 128;
constexpr double kMostWork = 4e5;      // values times (parts + 1)

struct Saddle {
  double log_delta;  // by the saddle point approximation
  double epsilon;    // whose crossing this is
  double curvature;
};

Saddle saddle(const Moments& moments, double c) {
  const double curvature = moments.variance + 1 / (c * c) + 1 / ((c + 1) * (c + 1));
  const double epsilon = moments.mean - 1 / c - 1 / (c + 1);
  return {moments.log_moment - c * epsilon - std::log(c) - std::log1p(c) - std::log(kRootTwoPi * std::sqrt(curvature)),
          epsilon, curvature};
}

/// Newton's method in log c for a function that grows with c, to a few per cent.
template <class Function>
double grown_to_zero(Function&& function) {
  double low = -60;
  double high = 60;
  double at = 0;
  for (int i = 0; i < 80; ++i) {
    const auto [value, slope] = function(std::exp(at));
    (value < 0 ? low : high) = at;
    double step = std::clamp(-value / slope, -3.0, 3.0);
    if (!std::isfinite(step)) step = value < 0 ? 1 : -1;
    if (at + step <= low || at + step >= high) step = (value < 0 ? high - at : low - at) / 2;
    at += step;
    if (std::abs(step) < 0.01) break;
  }
  return std::exp(at);
}

}  // namespace

Moments Composition::moments(double c) const {
  Moments total{gaussian * c * (c + 1) / 2, gaussian * (c + 0.5), gaussian};
  for (const auto& part : parts) {
    const auto one = part.loss.moments(c);
    total.log_moment += part.count * one.log_moment;
    total.mean += part.count * one.mean;
    total.variance += part.count * one.variance;
  }
  return total;
}

double Composition::counts() const {
  double sum = 0;
  for (const auto& part : parts) sum += std::abs(part.count);
  return sum;
}

double Composition::largest() const {
  double sum = gaussian > 0 ? std::numeric_limits<double>::infinity() : 0;
  for (const auto& part : parts) sum += part.count * part.loss.largest();
  return sum;
}

double crossing_for_epsilon(const Composition& composition, double epsilon) {
  return grown_to_zero([&](double c) {
    const auto at = saddle(composition.moments(c), c);
    return std::pair{at.epsilon - epsilon, c * at.curvature};
  });
}

double crossing_for_delta(const Composition& composition, double delta) {
  return grown_to_zero([&](double c) {
    const auto at = saddle(composition.moments(c), c);
    return std::pair{std::log(delta) - at.log_delta, c * c * at.curvature};
  });
}

double log_chernoff(const Composition& composition, double c, double epsilon) {
  return composition.moments(c).log_moment + composition.log_error - c * epsilon - c * std::log1p(1 / c) -
         std::log1p(c);
}

Contour::Contour(const Composition& composition, double c, double epsilon)
    : composition_(composition), c_(c), epsilon_(epsilon), moments_(composition.moments(c)) {
  const auto here = saddle(moments_, c);
  spread_ = std::sqrt(here.curvature);
  // The trapezoid rule adds delta(epsilon + k period) e^{k c period}, k = ..., -1, 1, ...: small against delta(epsilon)
  // by Chernoff's bound at c + theta and c - theta.
  const double level = kAliasing + std::log(kRootTwoPi * spread_) + std::log(c) + std::log1p(c);
  const auto needed = [&](double theta, double log_moment) {
    return (log_moment - moments_.log_moment - theta * epsilon + level) / std::abs(theta);
  };
  double above = std::numeric_limits<double>::infinity();
  double below = needed(-c, 0);
  for (const double width : {2.0, 4.0, 8.0}) {
    const double theta = width / spread_;
    above = std::min(above, needed(theta, composition.moments(c + theta).log_moment));
    if (theta < 0.9 * c) below = std::min(below, needed(-theta, composition.moments(c - theta).log_moment));
  }
  period_ = std::max({above, below, 8 / spread_});
  h_ = 2 * std::numbers::pi / period_;
  for (const auto& part : composition.parts) {
    lines_.emplace_back(part.loss, c, h_);
    error_ += std::abs(part.count) * lines_.back().error();
  }
  error_ = std::expm1(error_ + composition.log_error);
}

void Contour::append(std::size_t count) {
  const std::size_t old = values_.size();
  std::vector<std::complex<double>> logs(count);
  std::vector<std::complex<double>> one(count);
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    lines_[i].next(one);
    for (std::size_t k = 0; k < count; ++k) logs[k] += composition_.parts[i].count * std::log(one[k]);
  }
  values_.resize(old + count);
  for (std::size_t k = 0; k < count; ++k) {
    const double t = h_ * static_cast<double>(old + k);
    const double size = logs[k].real() - composition_.gaussian * t * t / 2;
    values_[old + k] = size < -100 ? 0 : std::exp(std::complex{size, logs[k].imag()});
  }
}

double Contour::log_rest(double t) const {
  double bound = -composition_.gaussian * t * t / 2;
  for (const auto& part : composition_.parts)
    if (part.count > 0) bound += part.count * part.loss.log_bound(c_, t);
  return bound;
}

Contour::Value Contour::at(double epsilon) const {
  // Sums over k of Re (term), term / s, ... : values e^{it (mean - epsilon)} times the extra release, its M(c) apart.
  const double angle = h_ * (moments_.mean - epsilon + extra_ * (c_ + 0.5));
  const std::complex<double> turn = std::polar(1.0, angle);
  std::complex<double> turned;
  double delta = 0;
  double slope = 0;
  double density = 0;
  for (std::size_t k = 0; k < values_.size(); ++k) {
    const double t = h_ * static_cast<double>(k);
    turned = k % kBlock == 0 ? std::polar(1.0, angle * static_cast<double>(k)) : turned * turn;
    const auto term = values_[k] * turned * (std::exp(-extra_ * t * t / 2) * (k == 0 ? 0.5 : 1));
    const std::complex<double> s{c_, t};
    density += term.real();
    slope += (term * std::conj(s + 1.0)).real() / std::norm(s + 1.0);
    delta += (term / (s * (s + 1.0))).real();
  }
  const double factor = std::exp(extra_ * c_ * (c_ + 1) / 2) * h_ / std::numbers::pi;
  const double errors = std::exp(log_tail_) + error_ * std::exp(extra_ * c_ * (c_ + 1) / 2) / (2 * c_);
  const double bound = std::max(delta, 0.0) * factor * (1 + kRounding) + errors;
  Value value;
  value.log_delta = std::min(std::log(bound), -c_ * std::log1p(1 / c_) - std::log1p(c_) + composition_.log_error) +
                    moments_.log_moment - c_ * epsilon + 1e-15 * std::abs(moments_.log_moment);
  value.slope = -(slope * factor + c_ * errors) / bound;
  value.excess = extra_ / 2 * std::max(density, 0.0) * factor / bound;
  return value;
}

void Contour::extend(double epsilon, double log_delta_excess, double epsilon_excess) {
  const double parts = static_cast<double>(lines_.size() + 1);
  const double floor = std::log(c_) + std::log1p(c_) + std::log(kRootTwoPi * spread_);  // - log delta, about
  if (values_.empty()) append(std::max<std::size_t>(16, static_cast<std::size_t>(8 / spread_ / h_)));
  while (true) {
    // The terms from `end` on are at most those of the integral of 1 / (pi t^2) from the last value on.
    const double end = h_ * static_cast<double>(values_.size());
    const double log_end = -std::log(std::numbers::pi * (end - h_));
    extra_ = 0;
    if (std::abs(values_.back()) < 1e-6) {
      log_tail_ = log_rest(end) + log_end;
      if (log_tail_ + floor < -kTail) return;
    }
    for (double exponent = std::max(4.0, kTail + floor + log_end); exponent < 60; exponent += 4) {
      extra_ = 2 * exponent / (end * end);
      log_tail_ = log_end - exponent + extra_ * c_ * (c_ + 1) / 2;
      const auto value = at(epsilon);
      const double tail = log_tail_ + moments_.log_moment - c_ * epsilon - value.log_delta;
      if (tail > -10) continue;
      if (value.excess <= log_delta_excess && value.excess <= epsilon_excess * -value.slope) return;
      break;
    }
    if (static_cast<double>(values_.size()) * parts > kMostWork) return;
    append(values_.size());
  }
}

bool Contour::covers(double epsilon) const { return std::abs(epsilon - epsilon_) < period_ / 8; }

}  // namespace fedstride::tight
