#include "dp/accountants/sampled_rdp.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

namespace fedstride {
namespace {

using Array = Eigen::ArrayXd;

/// ln E_{N(0)}[(r - 1)^l] for even l, r = N(1)/N(0): the forward difference of order l of k -> exp(k(k-1) / 2 sigma^2) at 0,
/// whose alternating sum would cancel. The integrand behaves like x^l on the scale of sigma, so a step of sigma/10 resolves it up
/// to l = kMaxOrder.
class CentralMoments {
 public:
  static constexpr int kMaxOrder = 1024;

  CentralMoments(double sigma, int largest) : logs_(static_cast<std::size_t>(largest / 2 + 1)) {
    constexpr double kStep = 0.1;
    const double reach = 13 + std::sqrt(static_cast<double>(largest));
    const auto count = static_cast<Eigen::Index>((2 * reach + largest / sigma) / kStep) + 1;
    const Array t = Array::LinSpaced(count, 0, static_cast<double>(count - 1)) * kStep - reach;
    const Array z = (t - 0.5 / sigma) / sigma;
    const Array log_distance = (z < 36).select(z.min(36).expm1().abs().max(1e-300).log(), z);
    const Array log_weight = std::log(kStep / std::sqrt(2 * std::numbers::pi)) - t * t / 2;
    for (int l = 2; l <= largest; l += 2) {
      const Array terms = l * log_distance + log_weight;
      const double peak = terms.maxCoeff();
      logs_[static_cast<std::size_t>(l / 2)] = peak + std::log((terms - peak).exp().sum());
    }
  }

  double log_of(int l) const { return logs_[static_cast<std::size_t>(l / 2)]; }

 private:
  std::vector<double> logs_;
};

/// False if r - 1 equals r to within a few percent: the moments then cannot be the theorem's smaller term, so they are not
/// computed.
bool moments_matter(double v, int j) { return j < CentralMoments::kMaxOrder && j * std::exp(-(j - 1) * v) >= 0.05; }

}  // namespace

std::vector<double> without_replacement_rdp(double rate, double sigma, std::span<const double> orders) {
  const double v = 1 / (2 * sigma * sigma);
  const double log_rate = std::log(rate);
  const auto largest = static_cast<int>(std::ceil(std::min<double>(kMaxClosedOrder, *std::ranges::max_element(orders))));
  int last = 2;  // largest j for which moments matter; they matter for smaller j too
  while (last < largest && moments_matter(v, last + 1)) ++last;
  std::optional<CentralMoments> moments;
  if (last > 2) moments.emplace(sigma, last + 1);
  // ln of the smaller of 4 sqrt(M(l) M(l')) and 2 exp(j(j-1) v), where M is the moment and l <= j <= l' are the nearest even
  // orders.
  const auto log_factor = [&](int j) {
    const double plain = std::numbers::ln2 + j * (j - 1.0) * v;
    if (j > last || !moments) return plain;
    return std::min(plain, 2 * std::numbers::ln2 + (moments->log_of(j / 2 * 2) + moments->log_of((j + 1) / 2 * 2)) / 2);
  };
  Array terms(std::max(largest - 1, 1));  // element j - 2: ln of q^j (factor of j) / j!
  for (int j = 2; j <= largest; ++j) {
    const double factor =
        j == 2 ? std::min(std::log(4 * std::expm1(std::min(2 * v, 600.0))), std::numbers::ln2 + 2 * v) : log_factor(j);
    terms[j - 2] = j * log_rate + factor - log_factorial(j);
  }
  const auto cumulant = [&](int order) {  // (a - 1) times the divergence
    if (order == 1) return 0.0;
    double log_sum = -std::numeric_limits<double>::infinity();
    for (int j = 2; j <= order; ++j) log_sum = log_add(log_sum, terms[j - 2] + log_factorial(order) - log_factorial(order - j));
    return std::min(log_add(0, log_sum), order * (order - 1.0) * v);
  };
  std::vector<double> values;
  for (const double order : orders) {
    if (order > largest) {
      values.push_back(order * v);
      continue;
    }
    const int below = static_cast<int>(std::floor(order));
    const double share = order - below;
    double bound = cumulant(below);
    if (share > 0) bound += share * (cumulant(below + 1) - bound);
    values.push_back(bound / (order - 1));
  }
  return values;
}

}  // namespace fedstride
