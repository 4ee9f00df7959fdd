#include "dp/accountants/tight.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/stop.hpp"
#include "dp/accountants/gaussian_curve.hpp"

namespace fedstride::tight {
namespace {

constexpr double kRootTwoPi = 2.5066282746310002;
constexpr double kAliasing = 16;  // in the exponent: how far below delta the period keeps the aliases
constexpr double kTail = 14;      // the same for the integral beyond the last value
constexpr double kDetour = 5;     // in the exponent: how far above the lowest crossing a crossing may be
// Crossings to try, as multiples of the lowest.
constexpr double kPlaces[] = {0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1, 1.03, 1.07, 1.15, 1.3, 1.6, 2.2, 3.5, 6, 12};
constexpr double kRounding = 1e-11;  // relative error of sums and exponentials
constexpr std::size_t kBlock = 128;
constexpr double kMaxLogCrossing = 500;

/// The zero of an increasing function of c, rounded down by at most one percent, found by Newton's method in log c with
/// bisection. `function(c)` returns the value and the slope in log c.
double root_from_below(auto&& function) {
  double low = -kMaxLogCrossing;
  double high = kMaxLogCrossing;
  double at = 0;
  for (int i = 0; i < 200; ++i) {
    const auto [value, slope] = function(std::exp(at));
    (value < 0 ? low : high) = at;
    if (high - low < 0.01) break;
    double step = std::clamp(-value / slope, -3.0, 3.0);
    if (!std::isfinite(step)) step = value < 0 ? 1 : -1;
    if (value < 0 && step < 0.003) break;
    if (value >= 0) step = std::min(step, -0.005);
    const bool outside = at + step <= low || at + step >= high;
    const bool slow = i % 3 == 2 && high - low < 30;
    check_stop();
    at = outside || slow ? (low + high) / 2 : at + step;
  }
  return std::exp(low > -kMaxLogCrossing ? low : at);
}

double curvature(const Moments& moments, double c) { return moments.variance + 1 / (c * c) + 1 / ((c + 1) * (c + 1)); }

}  // namespace

Composition Composition::leaking(double log_leak) const {
  Composition result = *this;
  result.leak = 0;
  for (auto& part : result.parts) {
    const double log_share = log_leak - std::log(part.count * static_cast<double>(parts.size()));
    part.loss = part.loss.leaking(log_share);
    result.leak += part.count * std::exp(log_share);
  }
  return result;
}

Moments Composition::moments(double c) const {
  Moments total{gaussian * c * (c + 1) / 2, gaussian * (c + 0.5), gaussian};
  for (const auto& part : parts) {
    const auto one = part.loss.moments(c);
    total.log_moment += part.count * one.log_moment;
    total.mean += part.count * one.mean;
    total.variance += part.count * one.variance;
    total.exact = total.exact && one.exact;
  }
  // In an interpolation, parts may have negative counts, so a bound on one part bounds nothing.
  if (!total.exact && interpolated > 0) total.log_moment = std::numeric_limits<double>::infinity();
  for (const auto& [drawn, count] : open) {
    const auto one = drawn.moments(c);
    total.log_moment += count * one.log_moment;
    total.mean += count * one.mean;
    total.variance += count * one.variance;
    total.exact = false;
  }
  return total;
}

double Composition::log_error(double c, double spread) const {
  if (checks.empty()) return 0;
  constexpr std::size_t kTimes = 8;
  using Values = std::array<std::complex<double>, kTimes>;
  bool exact = true;
  const auto logs = [&](const Loss& loss) {
    const auto here = loss.moments(c);
    exact = exact && here.exact;
    Values values;
    LossLine(loss, c, 1 / spread, false).next(values);
    for (std::size_t k = 0; k < kTimes; ++k)
      values[k] = log1p(values[k]) + std::complex{here.log_moment, here.mean * static_cast<double>(k) / spread};
    return values;
  };
  std::vector<Values> at_parts;
  for (const auto& part : parts) at_parts.push_back(logs(part.loss));
  double worst = 0;
  for (const auto& check : checks) {
    auto difference = logs(check.loss);
    for (std::size_t k = 0; k < kTimes; ++k) {
      for (const auto& [part, weight] : check.weights) difference[k] -= weight * at_parts[part][k];
      worst = std::max(worst, std::abs(difference[k]));
    }
  }
  return exact ? 2 * worst * interpolated : std::numeric_limits<double>::infinity();
}

double Composition::largest() const {
  double sum = gaussian > 0 || interpolated > 0 || !open.empty() ? std::numeric_limits<double>::infinity() : 0;
  for (const auto& part : parts) sum += part.count * part.loss.largest();
  return sum;
}

double Composition::drawn() const {
  double sum = 0;
  for (const auto& [one, count] : open) sum += count * one.rate;
  return sum;
}

Composition Composition::closed() const {
  Composition result = *this;
  result.open.clear();
  return result;
}

double Composition::rounding() const {
  constexpr double kOfOne = 4e-15;
  double sum = 0;
  for (const auto& part : parts) sum += std::abs(part.count);
  return kOfOne * sum;
}

double log_chernoff(const Composition& composition, double c, double epsilon) {
  const auto moments = composition.moments(c);
  const double value = moments.log_moment + composition.rounding() + composition.log_error(c, std::sqrt(curvature(moments, c))) -
                       c * epsilon - c * std::log1p(1 / c) - std::log1p(c);
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
}

Crossing crossing(const Composition& composition, double epsilon, double most) {
  double c = root_from_below([&](double at) {
    const auto moments = composition.moments(at);
    return std::pair{moments.mean - epsilon - 1 / at - 1 / (at + 1), at * curvature(moments, at)};
  });
  const auto lowest = composition.moments(c);
  const double saddle =
      lowest.log_moment - c * epsilon - std::log(c) - std::log1p(c) - std::log(kRootTwoPi * std::sqrt(curvature(lowest, c)));
  const double log_delta = std::min(saddle, most);
  // With period p, the trapezoid rule adds delta(epsilon + k p) e^{k c p} for k = ..., -1, 1, ... By Chernoff's bound at other
  // crossings, these aliases are small compared with delta(epsilon) if p is at least `level` / distance for one crossing on each
  // side. Rare large losses can make the period long; for crossings further to the left, it is shorter.
  struct Place {
    double c, level, height;
  };
  std::vector<Place> places{{0, kAliasing - log_delta, std::numeric_limits<double>::infinity()}};
  for (const double factor : kPlaces) {
    const double at = factor * c;
    const double exponent = (factor == 1 ? lowest : composition.moments(at)).log_moment - at * epsilon;
    places.push_back({at, exponent - log_delta + kAliasing, exponent - std::log(at) - std::log1p(at)});
  }
  Crossing best{c, epsilon, log_delta, std::numeric_limits<double>::infinity()};
  const double highest = lowest.log_moment - c * epsilon - std::log(c) - std::log1p(c) + kDetour;
  for (auto here = places.rbegin(); here != places.rend(); ++here) {
    if (here->c > c || here->height > highest) continue;
    double above = std::numeric_limits<double>::infinity();
    double below = std::numeric_limits<double>::infinity();
    for (const auto& place : places) {
      if (place.c > here->c) above = std::min(above, place.level / (place.c - here->c));
      if (place.c < here->c) below = std::min(below, place.level / (here->c - place.c));
    }
    if (std::max(above, below) < 0.8 * best.period) best = {here->c, epsilon, log_delta, std::max(above, below)};
  }
  return best;
}

ChernoffEpsilon chernoff_epsilon(const Composition& composition, double delta) {
  const double c = root_from_below([&](double at) {
    const auto moments = composition.moments(at);
    return std::pair{at * moments.mean - moments.log_moment + std::log1p(at) + std::log(delta),
                     at * at * moments.variance + at / (at + 1)};
  });
  return {std::max(0.0, (log_chernoff(composition, c, 0) - std::log(delta)) / c), c};
}

Contour::Contour(const Composition& composition, const Crossing& at)
    : composition_(composition),
      c_(at.c),
      epsilon_(at.epsilon),
      moments_(composition.moments(at.c)),
      h_(2 * std::numbers::pi / at.period),
      spread_(std::sqrt(curvature(moments_, at.c))),
      plain_(moments_.log_moment < 1),
      mean_(plain_ ? 0 : moments_.mean),
      log_scale_(plain_ ? 0 : moments_.log_moment),
      floor_(log_scale_ - at.c * at.epsilon - at.log_delta),
      log_error_(composition.log_error(at.c, spread_) + composition.rounding()) {
  if (!usable()) return;
  constexpr double kFewNodes = 3000;
  for (const auto& part : composition.parts) {
    check_stop();
    lines_.emplace_back(part.loss, c_, h_, plain_);
    parts_ += std::max(1.0, static_cast<double>(lines_.back().nodes()) / kFewNodes);
  }
}

void Contour::append(std::size_t count) {
  const std::size_t end = values_.size() + count;
  std::vector<std::complex<double>> logs(kBlock);
  std::vector<std::complex<double>> one(kBlock);
  while (values_.size() < end) {
    check_stop();
    const std::size_t first = values_.size();
    double error = log_error_;
    for (std::size_t k = 0; k < kBlock; ++k) {
      const double t = h_ * static_cast<double>(first + k);
      // s (s+1) mu^2 / 2; unless plain_, without its value at c and its mean
      logs[k] = composition_.gaussian / 2 *
                (plain_ ? std::complex{c_ * (c_ + 1) - t * t, t * (2 * c_ + 1)} : std::complex{-t * t, 0.0});
    }
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      lines_[i].next(one);
      const double times = composition_.parts[i].count;
      for (std::size_t k = 0; k < kBlock; ++k) logs[k] += times * log1p(one[k]);
      error += std::abs(times) * lines_[i].error();
    }
    error = std::expm1(error) * std::exp(moments_.log_moment - log_scale_);
    for (std::size_t k = 0; k < kBlock; ++k) {
      const double t = h_ * static_cast<double>(first + k);
      if (plain_)
        values_.push_back(expm1(logs[k]));
      else
        values_.push_back(logs[k].real() < -100 ? 0 : std::polar(std::exp(logs[k].real()), logs[k].imag()));
      error_ += error * h_ / std::numbers::pi / std::sqrt((c_ * c_ + t * t) * ((c_ + 1) * (c_ + 1) + t * t));
    }
  }
}

double Contour::log_rest(double t) const {
  double bound = -composition_.gaussian * t * t / 2;
  if (composition_.interpolated > 0) return bound + composition_.interpolated * composition_.slowest.log_bound(c_, t);
  for (const auto& part : composition_.parts) bound += part.count * part.loss.log_bound(c_, t);
  return bound;
}

Contour::Value Contour::at(double epsilon) const {
  // Sums over k of the real parts of term, term / (s+1) and term / (s (s+1)), where term is the value times e^{it (mean -
  // epsilon)} and the extra release's factor without its M(c).
  const double angle = h_ * (mean_ - epsilon + extra_ * (c_ + 0.5));
  const std::complex<double> turn = std::polar(1.0, angle);
  double cosine = 1;
  double sine = 0;
  double delta = 0;
  double slope = 0;
  double density = 0;
  for (std::size_t k = 0; k < values_.size(); ++k) {
    const double t = h_ * static_cast<double>(k);
    if (k % kBlock == 0) {
      cosine = std::cos(angle * static_cast<double>(k));
      sine = std::sin(angle * static_cast<double>(k));
    }
    const double weight = (extra_ > 0 ? std::exp(-extra_ * t * t / 2) : 1) * (k == 0 ? 0.5 : 1);
    const double real = weight * (values_[k].real() * cosine - values_[k].imag() * sine);
    const double imaginary = weight * (values_[k].real() * sine + values_[k].imag() * cosine);
    // 1 / (s+1) = (c+1 - it) / |s+1|^2;  1 / (s (s+1)) = (p - ir) / (|s|^2 |s+1|^2), p + ir = s (s+1)
    const double beyond = 1 / ((c_ + 1) * (c_ + 1) + t * t);
    density += real;
    slope += beyond * (real * (c_ + 1) + imaginary * t);
    delta += beyond / (c_ * c_ + t * t) * (real * (c_ * (c_ + 1) - t * t) + imaginary * t * (2 * c_ + 1));
    const double turned = cosine * turn.real() - sine * turn.imag();
    sine = cosine * turn.imag() + sine * turn.real();
    cosine = turned;
  }
  const double gain = std::exp(extra_ * c_ * (c_ + 1) / 2);
  const double factor = gain * h_ / std::numbers::pi;
  const double errors = std::exp(log_tail_) + gain * error_;
  double bound = std::max(delta, 0.0) * factor * (1 + kRounding) + errors;
  slope = -slope * factor - c_ * errors;
  density *= factor;
  if (plain_ && extra_ > 0) {
    // The subtracted 1 stands for the extra release alone, whose delta is added here.
    const double w = std::sqrt(extra_);
    const double rise = std::exp(c_ * epsilon);
    const double alone = gaussian_delta(w, epsilon);
    bound += alone > std::numeric_limits<double>::min() ? alone * rise : std::exp(gaussian_log_delta(w, epsilon) + c_ * epsilon);
    slope -= std::erfc((epsilon / w + w / 2) / std::numbers::sqrt2) / 2 * std::exp(epsilon) * rise;
    density += std::exp(-0.5 * (epsilon / w - w / 2) * (epsilon / w - w / 2)) / (w * kRootTwoPi) * rise;
  }
  // The outcomes that do not leak may lack the leak's mass relative to the subtracted 1, and so may the aliases.
  const double scaled_leak = composition_.leak * (1 + 1e-6) * std::exp(c_ * epsilon - log_scale_);
  bound += scaled_leak;
  Value value;
  value.log_delta = log_scale_ + std::log(bound) - c_ * epsilon + 1e-15 * std::abs(moments_.log_moment);
  if (composition_.leak == 0)
    value.log_delta =
        std::min(value.log_delta, moments_.log_moment - c_ * epsilon - c_ * std::log1p(1 / c_) - std::log1p(c_) + log_error_);
  value.slope = slope / bound;
  value.excess = extra_ / 2 * std::max(density, 0.0) / bound;
  return value;
}

bool Contour::extend(double epsilon, double log_delta_excess, double epsilon_excess, double most_work) {
  double wanted = 8 / spread_ / h_;
  while (true) {
    const double most = std::min(most_work / parts_, 3.0 * static_cast<double>(values_.size()) + 1e4);
    wanted = std::clamp(wanted, 16.0, std::max(16.0, most));
    if (wanted > static_cast<double>(values_.size())) append(static_cast<std::size_t>(wanted) - values_.size());
    // The terms at `end` and beyond add up to at most the integral of 1 / (pi t^2) over all t beyond the last value.
    const double end = h_ * static_cast<double>(values_.size());
    const double log_end = -std::log(std::numbers::pi * (end - h_));
    extra_ = 0;
    if (!plain_ && std::abs(values_.back()) < 1e-6) {
      log_tail_ = log_rest(end) + log_end;
      if (log_tail_ + floor_ < -kTail) return true;
    }
    double growth = 2;
    for (double exponent = std::max(4.0, kTail + floor_ + log_end); exponent < 200; exponent += 4) {
      extra_ = 2 * exponent / (end * end);
      log_tail_ = log_end - exponent + extra_ * c_ * (c_ + 1) / 2;
      if (plain_) log_tail_ += std::log1p(std::exp(moments_.log_moment));
      const auto value = at(epsilon);
      if (!std::isfinite(value.log_delta)) return false;
      if (log_tail_ + log_scale_ - c_ * epsilon - value.log_delta > -10) continue;
      const double most_excess = std::min(log_delta_excess, epsilon_excess * std::max(-value.slope, 1e-9));
      if (value.excess <= most_excess) return true;
      growth = std::clamp(1.1 * std::sqrt(value.excess / most_excess), 1.3, 3.0);
      break;
    }
    if (static_cast<double>(values_.size() + kBlock) * parts_ > most_work) return false;
    wanted = growth * static_cast<double>(values_.size());
  }
}

bool Contour::covers(double epsilon) const { return std::abs(epsilon - epsilon_) * c_ < 1; }

}  // namespace fedstride::tight
