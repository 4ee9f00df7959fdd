#include "dp/accountants/tight_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

namespace fedstride::tight {

Schedule::Schedule(std::span<const Releases> spending) {
  std::map<std::pair<double, double>, double> merged;
  double sensitivity = 1;
  for (const auto& releases : spending) {
    if (releases.count == 0) continue;
    neighbours = releases.neighbours;
    sensitivity = neighbours == Neighbours::add_remove ? 1 : 2;
    double count = static_cast<double>(releases.count);
    if (releases.sampling == Sampling::poisson && releases.rate < 1) {
      merged[{releases.rate, releases.noise_multiplier}] += count;
      continue;
    }
    // Of a shuffled epoch every record is in one lot: nothing sharper is claimed than one release a pass.
    if (releases.sampling == Sampling::shuffle && releases.passes > 0)
      count = std::min(count, static_cast<double>(releases.passes));
    const double mu = sensitivity / releases.noise_multiplier;
    gaussian += count * mu * mu;
  }
  for (const auto& [key, count] : merged) steps.push_back({key.first, key.second, count});
}

double Schedule::total_variation() const {
  // N(0, sigma) against N(m, sigma): erf(m / (2 sqrt 2 sigma)); sampling multiplies it by the rate; sums bound products.
  const double sensitivity = neighbours == Neighbours::add_remove ? 1 : 2;
  double sum = std::erf(std::sqrt(gaussian / 8));
  for (const auto& step : steps)
    sum += step.count * step.rate * std::erf(sensitivity / (std::sqrt(8.0) * step.noise_multiplier));
  return std::min(1.0, sum * (1 + 1e-12));
}

Composition Schedule::composition(Pair pair) const {
  Composition result;
  result.gaussian = gaussian;
  for (const auto& step : steps) result.parts.push_back({Loss(pair, step.rate, step.noise_multiplier), step.count});
  return result;
}

}  // namespace fedstride::tight
