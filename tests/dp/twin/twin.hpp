#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "dp/accountants/mechanism.hpp"

namespace fedstride::test {

/// An independent twin of the accountant `tight`, in a type Real of higher precision and by other means where there are
/// any: the moments M(s) by the trapezoid rule on the real line, every node of it at every s, with as many nodes as the
/// oscillation of e^{itL} asks for; no closed bound on anything: the step along the line is halved, and the extra
/// Gaussian release shrunk and extrapolated away (Richardson), until the result stands still.
template <class Real>
class Twin {
 public:
  /// Remove (or replace-one) is forward, add is not.
  struct Setting {
    Neighbours neighbours;
    bool forward;
    double rate, noise_multiplier, count;
  };

  /// To be asked for values of epsilon about this. `fineness` shrinks the extra Gaussian release.
  Twin(const Setting& setting, double epsilon, double fineness) : Twin(setting, epsilon) {
    fineness_ = fineness;
    first_c_ = static_cast<double>(c_);
    // Rare large losses can alias without a trace where c is large: two crossings have to agree.
    Real before = converge(epsilon);
    for (int i = 0; i < 6; ++i) {
      using std::abs;
      c_ *= Real(0.75);
      const Real now = converge(epsilon);
      change_ += abs(now - before);
      if (abs(now - before) < Real(1e-8)) return;
      before = now;
    }
  }

  /// True if delta(epsilon) can be above `delta`, by Chernoff's bound and the largest loss.
  static bool matters(const Setting& setting, double epsilon, double delta) {
    using std::log;
    if (!setting.forward && setting.rate < 1 && epsilon >= -setting.count * std::log1p(-setting.rate)) return false;
    const Twin twin(setting, epsilon);
    const Real c = twin.c_;
    return twin.height(c, epsilon) + (1 + c) * log(c) - c * log(1 + c) > log(Real(delta));
  }

  struct Value {
    Real value, uncertainty;
  };
  /// log delta(epsilon).
  Value log_delta(double epsilon) const {
    using std::abs;
    using std::log;
    const Real scale = log_moment_ - c_ * Real(epsilon);
    if (extra_ == 0) return {log(sum(epsilon, 0)) + scale, change_};
    const Real one = sum(epsilon, extra_);
    const Real two = sum(epsilon, 2 * extra_);
    const Real four = sum(epsilon, 4 * extra_);
    const Real once = 2 * one - two;
    const Real twice = (4 * once - (2 * two - four)) / 3;
    return {log(twice) + scale, abs(twice - once) / twice + change_};
  }
  /// The epsilon >= 0 with this delta, from a start near it; its uncertainty.
  Value epsilon(double delta, double start) const {
    using std::abs;
    using std::log;
    const Real target = log(Real(delta));
    // A value that the extrapolation makes negative is below. The regula falsi, with halved weights (Illinois).
    const auto over = [&](Real at) {
      const Real value = log_delta(static_cast<double>(at)).value;
      return value > target || value <= target ? Real(value - target) : Real(-100);
    };
    Real low = 0;
    Real high(start);
    Real above = over(low);
    if (above <= 0) return {0, 0};
    Real below = over(high);
    for (; below > 0; below = over(high)) {
      low = high;
      above = below;
      high = 2 * high + Real(1e-6);
    }
    Real width = high - low;
    const Real slope = (below - above) / width;
    int kept = 0;
    for (int i = 0; i < 80 && width > Real(1e-14) * (1 + high); ++i) {
      Real at = i % 4 == 3 ? (low + high) / 2 : (low * below - high * above) / (below - above);
      const Real value = over(at);
      if (value > 0) {
        low = at;
        above = value;
        if (kept == 1) below /= 2;
        kept = 1;
      } else {
        high = at;
        below = value;
        if (kept == -1) above /= 2;
        kept = -1;
      }
      width = high - low;
      if (abs(value) < Real(1e-13)) {
        high = at;
        break;
      }
    }
    const double step = 1e-5 * (static_cast<double>(high) + 1e-3);
    const Real uncertainty = log_delta(static_cast<double>(high)).uncertainty;
    const Real here = abs(over(high + Real(step)) - over(high)) / Real(step);
    return {high, uncertainty / (here > 0 ? here : abs(slope))};
  }

 private:
  struct Node {
    Real weight, loss;  // of the integrand of M(c)
    Real window = 1;
  };
  using Nodes = std::vector<Node>;

  Twin(const Setting& setting, double epsilon) : setting_(setting), c_(crossing(epsilon)), h_(0) {}

  Real log_ratio(Real x) const {
    using std::expm1;
    using std::log1p;
    const Real variance = Real(setting_.noise_multiplier) * Real(setting_.noise_multiplier);
    const Real u = (2 * x - 1) / (2 * variance);
    if (setting_.rate == 1) return u;
    const Real q(setting_.rate);
    return u > 60 ? u + log1p((1 - q) * expm1(-u)) : log1p(q * expm1(u));
  }
  /// |L'(x)|, which grows with |x| for replace-one and with x otherwise.
  Real slope(Real x) const {
    using std::exp;
    const Real variance = Real(setting_.noise_multiplier) * Real(setting_.noise_multiplier);
    const auto drawn = [&](Real at) {
      return Real(setting_.rate) * exp((2 * at - 1) / (2 * variance) - log_ratio(at)) / variance;
    };
    return setting_.neighbours == Neighbours::replace_one ? drawn(x) + drawn(-x) : drawn(x);
  }
  /// Nodes for values of t from `slowest` to `fastest`, and log M(c). Where e^{itL} turns so fast that it averages out
  /// (to e^-60) the integrand is cut off smoothly.
  Nodes nodes(Real c, Real slowest, Real fastest, Real& log_moment) const {
    using std::erfc;
    using std::exp;
    using std::log;
    const Real sigma(setting_.noise_multiplier);
    const bool replace = setting_.neighbours == Neighbours::replace_one;
    Real first = (setting_.forward ? 0 : -c) - 11 * sigma;
    Real last = (setting_.forward ? (replace ? 1 + 2 * c : 1 + c) : 0) + 11 * sigma;
    // The integrand may grow by e^{y^2 / 2 sigma^2 + t |L'| y} to Im x = y; the rule leaves out e^{-2 pi y / h}.
    Real y = 6 < 2.5 * setting_.noise_multiplier ? 6 * sigma : Real(2.5) * sigma * sigma;
    Real turning = (replace ? 2 : 1) * fastest / (sigma * sigma);
    const Real width = 2 < setting_.noise_multiplier ? Real(0.2) * sigma : Real(0.1) * sigma * sigma;
    bool cut = false;
    Real edge = last;
    if (slowest > 0 && setting_.rate < 1 && slope(last) * slowest * width > 16) {
      Real low = replace ? Real(0) : first;
      for (int i = 0; i < 60; ++i) {
        const Real middle = (low + edge) / 2;
        (slope(middle) * slowest * width > 16 ? edge : low) = middle;
      }
      if (edge + 14 * width < last) {
        cut = true;
        edge += 7 * width;
        last = edge + 7 * width;
        if (replace && -last > first) first = -last;
        turning = fastest * slope(last);
        if (y > 3 * width) y = 3 * width;
      }
    }
    const Real exponent = 46 + y * y / (2 * sigma * sigma) + turning * y + (cut ? y * y / (width * width) : Real(0));
    const Real step = Real(6.283185307179586) * y / exponent;
    const auto many = static_cast<std::size_t>((last - first) / step) + 1;
    Nodes all(many);
    Real top = -1e300;
    for (std::size_t i = 0; i < many; ++i) {
      const Real x = first + step * Real(static_cast<double>(i));
      const Real forward = setting_.forward ? log_ratio(x) : 0;
      const Real backward = replace ? log_ratio(-x) : (setting_.forward ? Real(0) : log_ratio(x));
      all[i].loss = forward - backward;
      all[i].weight = -x * x / (2 * sigma * sigma) + forward + c * all[i].loss;
      if (cut) {
        all[i].window = erfc((x - edge) / width) / 2;
        if (replace) all[i].window *= erfc((-x - edge) / width) / 2;
      }
      if (all[i].weight > top) top = all[i].weight;
    }
    Nodes kept;
    Real total = 0;
    for (auto& node : all) {
      if (node.weight < top - 55) continue;
      node.weight = exp(node.weight - top) * node.window;
      total += node.weight;
      kept.push_back(node);
    }
    const Real norm = sigma * Real(2.5066282746310005024);
    log_moment = top + log(total * step / norm);
    if (cut) {  // the total is not all of M(c): that was known before
      total = exp(log_moment_ / Real(setting_.count) - top) * norm / step;
    }
    for (auto& node : kept) node.weight /= total;
    return kept;
  }
  Real spread(Real c) const {
    using std::sqrt;
    Real ignored;
    Real mean = 0;
    Real square = 0;
    for (const auto& node : nodes(c, 0, 0, ignored)) mean += node.weight * node.loss;
    for (const auto& node : nodes(c, 0, 0, ignored)) square += node.weight * (node.loss - mean) * (node.loss - mean);
    return sqrt(Real(setting_.count) * square + 1 / (c * c) + 1 / ((c + 1) * (c + 1)));
  }
  Real height(Real c, double epsilon) const {
    using std::log;
    Real log_moment;
    nodes(c, 0, 0, log_moment);
    return Real(setting_.count) * log_moment - c * Real(epsilon) - log(c) - log(c + 1);
  }
  /// Values with a step so small that log delta, which is returned, stands still.
  Real converge(double epsilon) {
    using std::abs;
    h_ = Real(6.283185307179586) / (22 * spread(c_));
    gather();
    Real before = log_delta(epsilon).value;
    for (int i = 0; i < 6; ++i) {
      h_ /= 2;
      gather();
      const Real now = log_delta(epsilon).value;
      change_ = abs(now - before);
      if (change_ < Real(1e-8)) break;
      before = now;
    }
    return log_delta(epsilon).value;
  }
  /// The lowest point of the integrand on the real axis, or further left if that makes it less spread.
  Real crossing(double epsilon) const {
    const auto at = [&](double log_c) { return height(Real(std::exp(log_c)), epsilon); };
    double high = std::log(1e-4);
    Real last = at(high);
    for (Real next = at(high + 0.7); next < last && high < 9.5; next = at(high + 0.7)) {
      last = next;
      high += 0.7;
    }
    double low = high - 0.7;
    high += 0.7;
    while (high - low > 0.02) {
      const double a = low + 0.382 * (high - low);
      const double b = low + 0.618 * (high - low);
      if (at(a) < at(b))
        high = b;
      else
        low = a;
    }
    const Real lowest(std::exp(low));
    Real best = lowest;
    for (const double factor : {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3}) {
      const Real c = lowest * Real(factor);
      if (height(c, epsilon) > height(lowest, epsilon) + 5) break;
      if (spread(c) < Real(0.8) * spread(best)) best = c;
    }
    return best;
  }

  /// M(c + ikh)^count / M(c)^count, until they vanish, or to where the extra Gaussian release makes them vanish.
  void gather() {
    using std::atan2;
    using std::cos;
    using std::exp;
    using std::log;
    using std::sin;
    using std::sqrt;
    real_.clear();
    imaginary_.clear();
    const double width = std::min(4e-3, 0.03 / (1 + first_c_)) / fineness_;  // of the extra Gaussian release
    const double until = 9 / width;
    Real log_moment;
    nodes(c_, 0, 0, log_moment);
    log_moment_ = Real(setting_.count) * log_moment;
    extra_ = 0;
    std::size_t k = 0;
    double end = 8 * static_cast<double>(h_);
    while (true) {
      if (end > until) end = until;
      Real ignored;
      const std::size_t before = k;
      const auto all = nodes(c_, h_ * Real(static_cast<double>(before)), Real(end), ignored);
      Real largest = 0;
      const std::size_t many = static_cast<std::size_t>(end / static_cast<double>(h_)) + 1 - before;
      std::vector<Real> sum_real(many, 0), sum_imaginary(many, 0);
      for (const auto& node : all) {
        const Real turn_real = cos(h_ * node.loss);
        const Real turn_imaginary = sin(h_ * node.loss);
        Real a = 0;
        Real b = 0;
        for (std::size_t i = 0; i < many; ++i) {
          if (i % 64 == 0) {
            const Real t = h_ * Real(static_cast<double>(before + i));
            a = node.weight * cos(t * node.loss);
            b = node.weight * sin(t * node.loss);
          }
          sum_real[i] += a;
          sum_imaginary[i] += b;
          const Real turned = a * turn_real - b * turn_imaginary;
          b = a * turn_imaginary + b * turn_real;
          a = turned;
        }
      }
      for (std::size_t i = 0; i < many; ++i) {
        const Real square = sum_real[i] * sum_real[i] + sum_imaginary[i] * sum_imaginary[i];
        const Real size = Real(setting_.count) / 2 * log(square);
        const Real angle = Real(setting_.count) * atan2(sum_imaginary[i], sum_real[i]);
        const Real value = exp(size);
        if (value > largest) largest = value;
        real_.push_back(value * cos(angle));
        imaginary_.push_back(value * sin(angle));
      }
      k += many;
      if (largest < Real(1e-22)) return;
      if (end >= until) break;
      end *= 2;
    }
    extra_ = Real(width) * Real(width);
  }
  /// The integral without its factor M(c)^count e^{-c epsilon}.
  Real sum(double epsilon, Real extra) const {
    using std::cos;
    using std::exp;
    using std::sin;
    Real total = 0;
    const Real c = c_;
    for (std::size_t k = 0; k < real_.size(); ++k) {
      const Real t = h_ * Real(static_cast<double>(k));
      const Real fall = exp(extra / 2 * (c * (c + 1) - t * t));
      const Real angle = t * (extra / 2 * (2 * c + 1) - Real(epsilon));
      const Real a = real_[k] * cos(angle) - imaginary_[k] * sin(angle);
      const Real b = real_[k] * sin(angle) + imaginary_[k] * cos(angle);
      const Real p = c * (c + 1) - t * t;
      const Real r = t * (2 * c + 1);
      total += (k == 0 ? Real(0.5) : Real(1)) * fall * (a * p + b * r) / (p * p + r * r);
    }
    return total * h_ / Real(3.141592653589793238462643383279502884L);
  }

  Setting setting_;
  Real c_;
  Real h_;
  double fineness_ = 1;
  double first_c_ = 1;
  Real log_moment_ = 0;
  Real extra_ = 0;
  Real change_ = 0;  // of log delta when the step was halved, and the crossing moved, last
  std::vector<Real> real_, imaginary_;
};

}  // namespace fedstride::test
