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

/// Terms of the binomial sum, k = 2, ..., that matter to a relative 1e-14. With y = a(a-1) / 2 sigma^2 the rest is at most
/// (exp(y) - 1) / y times the whole times the probability that a Binomial(a, q) exceeds k (Chernoff).
int terms_needed(int order, double rate, double sigma) {
  const double y = order * (order - 1.0) / (2 * sigma * sigma);
  const double mean = order * rate;
  int k = 2 + static_cast<int>(mean);
  while (k < order && k * (std::log(k / mean) - 1) + mean < 33 + y) k += 8;
  return std::min(k + 2, order);
}

/// E_Q[(P/Q)^a] - 1 = sum over k from 2 of C(a, k) q^k (1-q)^(a-k) (exp(k(k-1) / 2 sigma^2) - 1): nothing cancels, and in
/// logarithms nothing overflows. Element k - 2 of the tables belongs to k.
class BinomialSums {
 public:
  BinomialSums(double rate, double sigma, int terms) : rate_(rate), sigma_(sigma), log_rest_(std::log1p(-rate)) {
    const int count = terms - 1;
    const Array k = Array::LinSpaced(count, 2, terms);
    const Array y = k * (k - 1) / (2 * sigma * sigma);
    const Array log_expm1 = (y < 36).select(y.min(36).expm1().log(), y);
    terms_ = log_expm1 + k * (std::log(rate) - log_rest_) - log_factorials().segment(2, count);
  }

  double rdp(int order) const {
    const int count = terms_needed(order, rate_, sigma_) - 1;
    const Array terms = terms_.head(count) - log_factorials().segment(order - 1 - count, count).reverse();
    const double largest = terms.maxCoeff();
    const double log_sum = largest + std::log((terms - largest).exp().sum());
    return log1p_exp(log_sum + log_factorials()[order] + order * log_rest_) / (order - 1);
  }

 private:
  double rate_;
  double sigma_;
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
    step_ = two_sided_ ? std::min(0.7 * sigma, 0.4 * variance) : std::min(0.7 * sigma, 0.55 * variance);
    low_ = (two_sided_ ? -1 : 0) - kReach * sigma;
    nodes_.resize(static_cast<std::size_t>((high(largest) - low_) / step_) + 1);
    const double log_scale = std::log(step_ / (sigma * std::sqrt(2 * std::numbers::pi)));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const double x = low_ + static_cast<double>(i) * step_;
      nodes_[i] = node(rate, (2 * x - 1) / (2 * variance), (-2 * x - 1) / (2 * variance));
      nodes_[i].log_weight += log_scale - x * x / (2 * variance);
      nodes_[i].weight = std::exp(nodes_[i].log_weight);
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
        sum += series * node.weight * unscale;
      } else {  // r^a - 1 - a u = r (r^(a-1) - 1) - (a-1) u
        const double power = beyond * node.log_ratio;
        const double own = node.log_ratio + node.log_weight - scale;
        if (u > 0 && own + power < std::log(sum) - 45) continue;  // too small to be seen
        if (power > 30)  // what is left out is smaller by exp(-30), and would make it less
          sum += std::exp(own + power);
        else if (node.log_ratio > 30)
          sum += std::exp(own) * (std::expm1(power) - beyond);
        else
          sum += unscale * node.weight * ((1 + u) * std::expm1(power) - beyond * u);
      }
    }
    return (scale > 0 ? log1p_exp(scale + std::log(sum)) : std::log1p(sum)) / beyond;
  }

 private:
  struct Node {
    double log_ratio = 0;   ///< ln r
    double excess = 0;      ///< r - 1; no more than exp(40), read below exp(30)
    double log_weight = 0;  ///< ln of Q's density times the step
    double weight = 0;
  };
  static constexpr double kReach = 10;  // standard deviations: exp(-10^2 / 2) is 2e-22

  /// `up` and `down` are the logarithms of the density of N(1) and of N(-1) over that of N(0).
  Node node(double rate, double up, double down) const {
    const double log_rest = std::log1p(-rate);
    const double log_rate = std::log(rate);
    const auto log_mixture = [&](double z) {  // ln(1 - q + q e^z)
      return z > 40 + log_rest - log_rate ? log_rate + z
             : z > 30                     ? log_add(log_rest, log_rate + z)
             : z < -40                    ? log_rest
                                          : std::log1p(rate * std::expm1(z));
    };
    if (!two_sided_) {
      if (up > 30) return {log_mixture(up), std::exp(std::min(log_rate + up, 40.0)), 0, 0};
      const double excess = rate * std::expm1(up);
      return {std::log1p(excess), excess, 0, 0};
    }
    const double log_q = log_mixture(down);
    const double log_ratio = log_mixture(up) - log_q;
    if (std::abs(log_ratio) > 0.5) return {log_ratio, std::expm1(std::min(log_ratio, 40.0)), log_q, 0};
    // The two are near each other: (P - Q) / Q without their difference. Neither exponent is large then.
    const double larger = std::max(up, down);
    const double size = std::exp(log_rate + larger - log_q) * -std::expm1(-std::abs(up - down));
    const double excess = up > down ? size : -size;
    return {std::log1p(excess), excess, log_q, 0};
  }

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
  int terms = 0;
  double largest_other = 0;
  for (const double order : orders) {
    if (closed_form && is_closed(order))
      terms = std::max(terms, terms_needed(static_cast<int>(order), rate, sigma));
    else
      largest_other = std::max(largest_other, order);
  }
  std::vector<double> values(orders.size());
  if (terms > 0) {
    const BinomialSums sums(rate, sigma, terms);
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
