#include "partitions/simplex.hpp"

#include <algorithm>
#include <cmath>

namespace fedstride {

std::vector<double> log_gammas(std::span<const double> concentrations, RandomStream& random) {
  std::vector<double> logs;
  logs.reserve(concentrations.size());
  for (const double concentration : concentrations) {
    const double shape = std::clamp(concentration, 1e-300, 1e15);
    // Gamma(a) = Gamma(a + 1) U^(1/a) (Marsaglia & Tsang 2000, section 6).
    double log_gamma = std::log(random.gamma(shape < 1 ? shape + 1 : shape));
    if (shape < 1) log_gamma += std::log(1 - random.uniform()) / shape;
    logs.push_back(log_gamma);
  }
  return logs;
}

std::vector<double> normalised(std::span<const double> logs) {
  const double largest = *std::max_element(logs.begin(), logs.end());
  std::vector<double> shares;
  shares.reserve(logs.size());
  double sum = 0;
  for (const double value : logs) {
    shares.push_back(std::exp(value - largest));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace fedstride
