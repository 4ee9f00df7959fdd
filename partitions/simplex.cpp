#include "partitions/simplex.hpp"

#include <algorithm>
#include <cmath>

#include "core/elementary.hpp"

namespace fedstride {

std::vector<double> log_gammas(std::span<const double> concentrations, RandomStream& random) {
  std::vector<double> logs;
  logs.reserve(concentrations.size());
  for (const double concentration : concentrations) logs.push_back(random.log_of_gamma(std::clamp(concentration, 1e-300, 1e15)));
  return logs;
}

std::vector<double> normalized(std::span<const double> logs) {
  const double largest = *std::max_element(logs.begin(), logs.end());
  std::vector<double> shares;
  shares.reserve(logs.size());
  double sum = 0;
  for (const double value : logs) {
    shares.push_back(portable::exp(value - largest));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace fedstride
