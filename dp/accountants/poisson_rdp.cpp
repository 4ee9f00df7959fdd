#include "dp/accountants/sampled_rdp.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "dp/accountants/composition.hpp"

namespace fedstride {
namespace {

using Array = Eigen::ArrayXd;

const Array& log_factorials() {
  static const Array table = [] {
    Array values(kMaxClosedOrder + 1);
    long double sum = 0;
    values[0] = 0;
    for (int n = 1; n <= kMaxClosedOrder; ++n) {
      sum += std::log(static_cast<long double>(n));
      values[n] = static_cast<double>(sum);
    }
    return values;
  }();
  return table;
}

/// ln(1 + exp(x))
double log1p_exp(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

bool is_closed(double order) { return order == std::floor(order) && order <= kMaxClosedOrder; }

/// The last k of the binomial sum (k = 2, ...) that matters for a relative error of 1e-14. With y = a(a-1) / 2 sigma^2, the later
/// terms add up to at most (exp(y) - 1) / y times the whole sum times the probability that a Binomial(a, q) exceeds k (Chernoff).
int terms_needed(int order, double rate, double sigma) {
  const double y = order * (order - 1.0) / (2 * sigma * sigma);
  const double mean = order * rate;
  int k = 2 + static_cast<int>(mean);
  while (k < order && k * (std::log(k / mean) - 1) + mean < 33 + y) k += 8;
  return std::min(k + 2, order);
}

/// E_Q[(P/Q)^a] - 1 = sum over k from 2 of C(a, k) q^k (1-q)^(a-k) (exp(k(k-1) / 2 sigma^2) - 1): no terms cancel, and their
/// logarithms cannot overflow. Element k - 2 of terms_ belongs to k.
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

// Eigen vectorizes exp and log of doubles, but not expm1 and log1p. These versions are as accurate, at the cost of a log.
Array log1p_of(const Array& x) {  // Higham, Accuracy and Stability of Numerical Algorithms, problem 1.5
  const Array whole = (1 + x).max(1e-300);
  return (whole == 1).select(x, whole.log() * x / (whole - 1));
}
Array expm1_of(const Array& x) {  // ibid., section 1.14.1
  const Array power = x.exp();
  return (x.abs() > 0.5).select(power - 1, (power == 1).select(x, (power - 1) * x / power.log()));
}

/// r = P/Q at the nodes of the trapezoid rule, which is spectrally accurate here: the integrand is analytic in a strip around the
/// real line, up to the zeros of P and Q at a height of pi sigma^2, and decays like a Gaussian. E_Q[r^a] - 1 = E_Q[r^a - 1 - a (r
/// - 1)], whose integrand is nowhere negative, so nothing cancels.
class Quadrature {
 public:
  /// The number of quadrature points for this order.
  static double points(double sigma, bool two_sided, double order) {
    return (place_of_mass(two_sided, order) + (two_sided ? 1 : 0) + 2 * kReach * sigma) / step(sigma, two_sided);
  }

  Quadrature(double rate, double sigma, Neighbours neighbours, double largest)
      : sigma_(sigma), two_sided_(neighbours == Neighbours::replace_one) {
    const double variance = sigma * sigma;
    step_ = step(sigma, two_sided_);
    low_ = (two_sided_ ? -1 : 0) - kReach * sigma;
    const auto count = static_cast<Eigen::Index>((high(largest) - low_) / step_) + 1;
    const Array x = low_ + Array::LinSpaced(count, 0, static_cast<double>(count - 1)) * step_;
    const Array up = (2 * x - 1) / (2 * variance);  // ln(density of N(1) / density of N(0))
    const Array held = up.min(kHeld);
    excess_ = rate * expm1_of(held);
    log_weight_ = std::log(step_ / (sigma * std::sqrt(2 * std::numbers::pi))) - x.square() / (2 * variance);
    if (two_sided_) {
      const Array down = ((-2 * x - 1) / (2 * variance)).min(kHeld);
      const Array below = rate * expm1_of(down);  // Q / N(0) - 1
      excess_ = (excess_ - below) / (1 + below);
      log_weight_ += log1p_of(below);
    }
    log_ratio_ = log1p_of(excess_) + (up - held);
    weight_ = log_weight_.exp();
  }

  double rdp(double order) const {
    const auto end = std::min(weight_.size(), static_cast<Eigen::Index>((high(order) - low_) / step_) + 1);
    const auto excess = excess_.head(end);
    const Array power = order * log_ratio_.head(end) + log_weight_.head(end);
    const double scale = std::max(power.maxCoeff(), 0.0);
    double binomial[8];  // C(a, 2), ..., C(a, 9)
    binomial[0] = order * (order - 1) / 2;
    for (int k = 3; k <= 9; ++k) binomial[k - 2] = binomial[k - 3] * (order - k + 1) / k;
    Array series = Array::Constant(end, binomial[7]);
    for (int k = 6; k >= 0; --k) series = series * excess + binomial[k];
    const Array weight = weight_.head(end) * std::exp(-scale);
    const Array near = weight * excess.square() * series;  // for r near 1: a binomial series
    const Array far = (power - scale).exp() - weight * (1 + order * excess);
    const double sum = (excess.abs() * order < 0.02).select(near, far).sum();
    return (scale > 0 ? log1p_exp(scale + std::log(sum)) : std::log1p(sum)) / (order - 1);
  }

 private:
  static constexpr double kReach = 8.5;  // standard deviations: exp(-8.5^2 / 2) is 2e-16
  /// The likelihood ratio in r - 1 is capped at exp(300): beyond it, r^a is so large that r - 1 does not matter.
  static constexpr double kHeld = 300;

  /// Where most of the mass of r^a Q lies: near a if the denominator is N(0) alone, up to 2a - 1 if it includes N(-1).
  static double place_of_mass(bool two_sided, double order) { return two_sided ? 2 * order - 1 : order; }
  double high(double order) const { return place_of_mass(two_sided_, order) + kReach * sigma_; }
  static double step(double sigma, bool two_sided) {
    const double variance = sigma * sigma;
    return two_sided ? std::min(0.6 * sigma, 0.4 * variance) : std::min(0.7 * sigma, 0.55 * variance);
  }

  double sigma_;
  bool two_sided_;
  double step_;
  double low_;
  Array excess_;      ///< r - 1
  Array log_ratio_;   ///< ln r
  Array log_weight_;  ///< ln(Q's density x step)
  Array weight_;
};

}  // namespace

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == -std::numeric_limits<double>::infinity() ? a : a + std::log1p(std::exp(b - a));
}

double log_factorial(int n) { return log_factorials()[n]; }

bool is_poisson_rdp_exact(double sigma, Neighbours neighbours, double order) {
  constexpr double kMaxPoints = 16384;
  const bool two_sided = neighbours == Neighbours::replace_one;
  return (!two_sided && is_closed(order)) || Quadrature::points(sigma, two_sided, order) <= kMaxPoints;
}

std::vector<double> poisson_rdp(double rate, double sigma, Neighbours neighbours, std::span<const double> orders) {
  const bool closed_form = neighbours != Neighbours::replace_one;
  int terms = 0;
  double largest_other = 0;
  for (const double order : orders) {
    if (closed_form && is_closed(order))
      terms = std::max(terms, terms_needed(static_cast<int>(order), rate, sigma));
    else if (is_poisson_rdp_exact(sigma, neighbours, order))
      largest_other = std::max(largest_other, order);
  }
  std::vector<double> values(orders.size());
  const double distance = closed_form ? 1 : 2;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double exponent = orders[i] * (orders[i] - 1) * distance * distance / (2 * sigma * sigma);
    values[i] = amplified_epsilon(exponent, rate) / (orders[i] - 1);
  }
  if (terms > 0) {
    const BinomialSums sums(rate, sigma, terms);
    for (std::size_t i = 0; i < orders.size(); ++i)
      if (closed_form && is_closed(orders[i])) values[i] = sums.rdp(static_cast<int>(orders[i]));
  }
  if (largest_other > 0) {
    const Quadrature quadrature(rate, sigma, neighbours, largest_other);
    for (std::size_t i = 0; i < orders.size(); ++i)
      if ((!closed_form || !is_closed(orders[i])) && is_poisson_rdp_exact(sigma, neighbours, orders[i]))
        values[i] = quadrature.rdp(orders[i]);
  }
  return values;
}

}  // namespace fedstride
