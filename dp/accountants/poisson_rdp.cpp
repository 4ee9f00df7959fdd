#include "dp/accountants/poisson_rdp.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace fedstride {
namespace {

using Array = Eigen::ArrayXd;

const Array& log_factorials() {
  static const Array table = [] {
    Array values(kLargestClosedOrder + 1);
    long double sum = 0;
    values[0] = 0;
    for (int n = 1; n <= kLargestClosedOrder; ++n) {
      sum += std::log(static_cast<long double>(n));
      values[n] = static_cast<double>(sum);
    }
    return values;
  }();
  return table;
}

/// ln(1 + exp(x))
double log1p_exp(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

bool is_closed(double order) { return order == std::floor(order) && order <= kLargestClosedOrder; }

/// E_Q[(P/Q)^a] - 1 = sum over k from 2 of C(a, k) q^k (1-q)^(a-k) (exp(k(k-1) / 2 sigma^2) - 1): nothing cancels, and in
/// logarithms nothing overflows. Element k - 2 of the tables belongs to k.
class BinomialSums {
 public:
  BinomialSums(double rate, double sigma, int largest) : log_rest_(std::log1p(-rate)) {
    const int count = largest - 1;
    const Array k = Array::LinSpaced(count, 2, largest);
    const Array y = k * (k - 1) / (2 * sigma * sigma);
    const Array log_expm1 = (y < 36).select(y.min(36).expm1().log(), y);
    terms_ = log_expm1 + k * (std::log(rate) - log_rest_) - log_factorials().segment(2, count);
  }

  double rdp(int order) const {
    const int count = order - 1;
    const Array terms = terms_.head(count) - log_factorials().head(count).reverse();
    const double largest = terms.maxCoeff();
    const double log_sum = largest + std::log((terms - largest).exp().sum());
    return log1p_exp(log_sum + log_factorials()[order] + order * log_rest_) / (order - 1);
  }

 private:
  double log_rest_;
  Array terms_;
};

/// r = P/Q on nodes of the trapezoid rule, spectrally accurate here: the integrand is analytic in a strip about the real
/// line, up to the zeros of P and Q at a height of pi sigma^2, and falls off as a Gaussian.
/// E_Q[r^a] - 1 = E_Q[r^a - 1 - a (r - 1)], whose integrand is nowhere negative: nothing cancels.
class Quadrature {
 public:
  Quadrature(double rate, double sigma, Neighbours neighbours, double largest)
      : sigma_(sigma), two_sided_(neighbours == Neighbours::replace_one) {
    const double variance = sigma * sigma;
    step_ = two_sided_ ? std::min(0.5 * sigma, 0.3 * variance) : std::min(0.5 * sigma, 0.45 * variance);
    low_ = (two_sided_ ? -1 : 0) - kReach * sigma;
    const auto count = static_cast<std::size_t>((high(largest) - low_) / step_) + 1;
    nodes_.resize(count);
    const double log_rate = std::log(rate);
    const double log_scale = std::log(step_ / (sigma * std::sqrt(2 * std::numbers::pi)));
    const auto log_ratio = [&](double z) {  // ln(1 - q + q e^z)
      return z < 30 ? std::log1p(rate * std::expm1(z)) : log_add(std::log1p(-rate), log_rate + z);
    };
    for (std::size_t i = 0; i < count; ++i) {
      Node& node = nodes_[i];
      const double x = low_ + static_cast<double>(i) * step_;
      const double up = (2 * x - 1) / (2 * variance);
      const double normal = log_scale - x * x / (2 * variance);
      const double log_p = log_ratio(up);
      const double log_q = two_sided_ ? log_ratio((-2 * x - 1) / (2 * variance)) : 0;
      node.log_weight = normal + log_q;
      const double difference =  // ln(r - 1) or ln(1 - r), whichever there is
          two_sided_ ? log_rate - 1 / (2 * variance) + log_two_sinh(std::abs(x) / variance) - log_q
          : up > 30  ? log_rate + up
                     : log_rate + std::log(std::abs(std::expm1(up)));
      const bool above = two_sided_ ? x > 0 : up > 0;
      const bool far = difference > 30;
      node.excess = (above ? 1 : -1) * std::exp(std::min(difference, 700.0));
      node.log_ratio = far || std::abs(node.excess) > 0.5 ? log_p - log_q : std::log1p(node.excess);
      node.weighted_excess = (above ? 1 : -1) * std::exp(difference + node.log_weight);
    }
  }

  double rdp(double order) const {
    const double beyond = order - 1;
    const auto end = std::min(nodes_.size(), static_cast<std::size_t>((high(order) - low_) / step_) + 1);
    double peak = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < end; ++i) peak = std::max(peak, order * nodes_[i].log_ratio + nodes_[i].log_weight);
    const double scale = std::max(peak, 0.0);
    const double unscale = std::exp(-scale);
    double sum = 0;
    for (std::size_t i = 0; i < end; ++i) {
      const Node& node = nodes_[i];
      const double u = node.excess;
      if (std::abs(u) * order < 0.02) {  // binomial series
        double term = order * beyond / 2 * u * u;
        double series = 0;
        for (int k = 3; k <= 9; ++k) {
          series += term;
          term *= (order - k + 1) / k * u;
        }
        sum += series * std::exp(node.log_weight - scale);
      } else {  // r^a - 1 - a u = r (r^(a-1) - 1) - (a-1) u
        const double power = beyond * node.log_ratio;
        const double own = node.log_ratio + node.log_weight - scale;
        const double grown = power < 30 ? std::exp(own) * std::expm1(power) : std::exp(own + power);
        sum += grown - beyond * unscale * node.weighted_excess;
      }
    }
    return (scale > 0 ? log1p_exp(scale + std::log(sum)) : std::log1p(sum)) / beyond;
  }

 private:
  struct Node {
    double log_ratio = 0;        ///< ln r
    double excess = 0;           ///< r - 1
    double log_weight = 0;       ///< ln of Q's density times the step
    double weighted_excess = 0;  ///< (r - 1) times Q's density times the step
  };
  static constexpr double kReach = 13;  // standard deviations: exp(-13^2 / 2) is 2e-37

  static double log_two_sinh(double y) { return y < 30 ? std::log(2 * std::sinh(y)) : y; }
  /// Where r^a Q has its mass: about a for a lone N(0) below, up to 2a - 1 if N(-1) is there instead.
  double high(double order) const { return (two_sided_ ? 2 * order - 1 : order) + kReach * sigma_; }

  double sigma_;
  bool two_sided_;
  double step_;
  double low_;
  std::vector<Node> nodes_;
};

}  // namespace

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == -std::numeric_limits<double>::infinity() ? a : a + std::log1p(std::exp(b - a));
}

double log_factorial(int n) { return log_factorials()[n]; }
double log_choose(int n, int k) { return log_factorial(n) - log_factorial(k) - log_factorial(n - k); }

std::vector<double> poisson_rdp(double rate, double sigma, Neighbours neighbours, std::span<const double> orders) {
  const bool closed_form = neighbours == Neighbours::add_remove;
  double largest_closed = 0;
  double largest_other = 0;
  for (const double order : orders) {
    double& largest = closed_form && is_closed(order) ? largest_closed : largest_other;
    largest = std::max(largest, order);
  }
  std::vector<double> values(orders.size());
  if (largest_closed > 0) {
    const BinomialSums sums(rate, sigma, static_cast<int>(largest_closed));
    for (std::size_t i = 0; i < orders.size(); ++i)
      if (is_closed(orders[i])) values[i] = sums.rdp(static_cast<int>(orders[i]));
  }
  if (largest_other > 0) {
    const Quadrature quadrature(rate, sigma, neighbours, largest_other);
    for (std::size_t i = 0; i < orders.size(); ++i)
      if (!closed_form || !is_closed(orders[i])) values[i] = quadrature.rdp(orders[i]);
  }
  return values;
}

}  // namespace fedstride
