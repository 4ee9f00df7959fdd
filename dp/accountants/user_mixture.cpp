#include "dp/accountants/user_mixture.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/accountants/least_epsilon.hpp"
#include "dp/accountants/rdp_orders.hpp"

namespace fedstride {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

void check_mixture(const UserMixture& mixture) {
  if (mixture.bound == 0 || mixture.bound > 1000)
    throw usage_error("rows of a user are " + std::to_string(mixture.bound) + "; valid: 1 to 1000");
  if (!(mixture.rate > 0) || mixture.rate > 1)
    throw usage_error("rate is " + number_text(mixture.rate) + "; it must be above 0 and at most 1");
  if (!(mixture.noise_multiplier >= 0.1) || mixture.noise_multiplier > 1e4)
    throw usage_error("noise multiplier is " + number_text(mixture.noise_multiplier) + "; valid: 0.1 to 1e4");
}

class MixtureCurve {
 public:
  explicit MixtureCurve(const UserMixture& mixture) : sigma_(mixture.noise_multiplier) {
    const auto count = static_cast<double>(mixture.bound);
    for (std::uint64_t j = 0; j <= mixture.bound; ++j) {
      const auto drawn = static_cast<double>(j);
      double log = std::lgamma(count + 1) - std::lgamma(drawn + 1) - std::lgamma(count - drawn + 1);
      log += j == 0 ? 0 : drawn * std::log(mixture.rate);
      log += j == mixture.bound ? 0 : (count - drawn) * std::log1p(-mixture.rate);
      log_chances_.push_back(log);
    }
  }

  /// Log of the density ratio, mixture over Gaussian; increases with x.
  double log_ratio(double x) const {
    double most = -kNoBound;
    for (std::size_t j = 0; j < log_chances_.size(); ++j) most = std::max(most, term(j, x));
    double sum = 0;
    for (std::size_t j = 0; j < log_chances_.size(); ++j) sum += std::exp(term(j, x) - most);
    return most + std::log(sum);
  }

  /// The mixture's probability above x.
  double above(double x) const {
    return total([&](double j) { return normal_below((j - x) / sigma_); });
  }
  double below(double x) const {
    return total([&](double j) { return normal_below((x - j) / sigma_); });
  }

  /// The point where log_ratio is `level`; -infinity if there is none.
  double at(double level) const {
    double low = -1, high = 1;
    while (log_ratio(high) < level && high < 1e300) high *= 2;
    while (log_ratio(low) > level && low > -1e12) low *= 2;
    if (log_ratio(low) > level) return -kNoBound;
    for (int i = 0; i < 200; ++i) {
      const double middle = (low + high) / 2;
      if (middle <= low || middle >= high) break;
      (log_ratio(middle) < level ? low : high) = middle;
    }
    return high;
  }

  double delta(double epsilon) const {
    constexpr double kRounding = 1e-12;
    const double x = at(epsilon);
    const double remove = above(x) - std::exp(epsilon + std::log(normal_below(-x / sigma_)));
    double add = 0;
    if (const double y = at(-epsilon); std::isfinite(y)) add = normal_below(y / sigma_) - std::exp(epsilon) * below(y);
    return std::clamp(std::max(remove, add) + kRounding * above(x) + 1e-15, 0.0, 1.0);
  }

  /// The divergence at each order. All orders share one grid, so the ratio is computed once.
  std::vector<double> rdp(std::span<const double> orders) const {
    const auto last = static_cast<double>(log_chances_.size() - 1);
    const double step = std::min(sigma_ / 24, sigma_ * sigma_ / 3);
    const double from = -40 * sigma_ - last;
    const auto nodes = [&](double order) { return static_cast<Eigen::Index>((order * last + 40 * sigma_ - from) / step) + 1; };
    const auto is_short = [&](double order) { return static_cast<double>(nodes(order)) * last <= 3e7; };
    Eigen::Index count = 1;
    for (const double order : orders)
      if (is_short(order)) count = std::max(count, nodes(order));
    const Eigen::ArrayXd x = from + step * Eigen::ArrayXd::LinSpaced(count, 0, static_cast<double>(count - 1));
    const Eigen::ArrayXd density = -x.square() / (2 * sigma_ * sigma_);
    const Eigen::ArrayXd ratio = log_ratios(x);
    const double scale = std::log(step / sigma_ / std::sqrt(2 * std::numbers::pi));
    std::vector<double> divergences;
    for (const double order : orders) {
      check_stop();
      divergences.push_back(is_short(order) ? 0 : kNoBound);
      for (const double power : {order, 1 - order}) {  // removing, adding
        if (!is_short(order)) continue;
        const Eigen::ArrayXd log = density.head(nodes(order)) + power * ratio.head(nodes(order));
        const double most = log.maxCoeff();
        const double log_sum = most + std::log((log - most).exp().sum()) + scale;
        divergences.back() = std::max(divergences.back(), log_sum / (order - 1));
      }
      divergences.back() = divergences.back() * (1 + 1e-9) + 1e-13 / (order - 1);
    }
    return divergences;
  }

 private:
  double term(std::size_t j, double x) const {
    const auto drawn = static_cast<double>(j);
    return log_chances_[j] + (drawn * x - drawn * drawn / 2) / (sigma_ * sigma_);
  }
  Eigen::ArrayXd log_ratios(const Eigen::ArrayXd& x) const {
    Eigen::ArrayXd most = Eigen::ArrayXd::Constant(x.size(), -kNoBound), sum = Eigen::ArrayXd::Zero(x.size());
    const auto terms = [&](std::size_t j) {
      const auto drawn = static_cast<double>(j);
      return log_chances_[j] + (drawn * x - drawn * drawn / 2) / (sigma_ * sigma_);
    };
    for (std::size_t j = 0; j < log_chances_.size(); ++j) most = most.max(terms(j));
    for (std::size_t j = 0; j < log_chances_.size(); ++j) {
      check_stop();
      sum += (terms(j) - most).exp();
    }
    return most + sum.log();
  }
  double total(const auto& part) const {
    double sum = 0;
    for (std::size_t j = 0; j < log_chances_.size(); ++j) sum += std::exp(log_chances_[j]) * part(static_cast<double>(j));
    return sum;
  }

  double sigma_;
  std::vector<double> log_chances_;
};

}  // namespace

double user_mixture_delta(const UserMixture& mixture, double epsilon) {
  check_mixture(mixture);
  check_epsilon(epsilon);
  return MixtureCurve(mixture).delta(epsilon);
}

double user_mixture_epsilon(const UserMixture& mixture, double delta) {
  check_mixture(mixture);
  check_delta(delta);
  const MixtureCurve curve(mixture);
  if (curve.delta(0) <= delta) return 0;
  double low = 0, high = 1;
  while (curve.delta(high) > delta) {
    low = high;
    high *= 2;
    if (high > 1e9) return kNoBound;
  }
  return least_epsilon(low, high, 1e-12, [&](double epsilon) { return curve.delta(epsilon) <= delta; });
}

std::vector<double> user_mixture_rdp(const UserMixture& mixture, std::span<const double> orders) {
  check_mixture(mixture);
  for (const double order : orders)
    if (!(order > 1) || !(order <= 1e4)) throw usage_error("order is " + number_text(order) + "; valid: above 1 and at most 1e4");
  return MixtureCurve(mixture).rdp(orders);
}

double user_mixture_rdp(const UserMixture& mixture, double order) {
  return user_mixture_rdp(mixture, std::span<const double>(&order, 1)).front();
}

double user_mixture_epsilon(const UserMixture& mixture, std::uint64_t releases, double delta) {
  check_mixture(mixture);
  check_delta(delta);
  const std::span<const double> orders = order_grid(OrderGrid::standard);
  const std::vector<double> divergences = MixtureCurve(mixture).rdp(orders);
  double least = kNoBound;
  for (std::size_t i = 0; i < orders.size(); ++i)
    least = std::min(least, epsilon_at(Conversion::improved, orders[i], static_cast<double>(releases) * divergences[i], delta));
  return std::max(least, 0.0);
}

}  // namespace fedstride
