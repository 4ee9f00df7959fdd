#include "dp/accountants/tight.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "dp/accountants/spending.hpp"

namespace fedstride::tight {

Schedule::Schedule(std::span<const Releases> spending) {
  std::map<std::pair<double, double>, double> merged;
  double sensitivity = 1;
  for (const auto& releases : spending) {
    if (releases.count == 0) continue;
    neighbours = releases.neighbours;
    sensitivity = distance_between(neighbours);
    double count = static_cast<double>(releases.count);
    if (releases.sampling == Sampling::poisson && releases.rate < 1) {
      merged[{releases.rate, releases.noise_multiplier}] += count;
      continue;
    }
    // Every record is in one lot per pass, so it is charged one full release per pass; nothing sharper is claimed here.
    if (has_passes(releases.sampling) && releases.passes > 0) count = std::min(count, static_cast<double>(releases.passes));
    const double mu = sensitivity * static_cast<double>(releases.rows) / releases.noise_multiplier;
    gaussian += count * mu * mu;
  }
  for (const auto& [key, count] : merged) steps.push_back({key.first, key.second, count});
}

double Schedule::total_variation() const {
  // N(0, sigma) and N(m, sigma) have total variation distance erf(m / (2 sqrt 2 sigma)). Sampling multiplies it by the rate; a
  // composition's distance is at most the sum.
  const double sensitivity = distance_between(neighbours);
  double sum = std::erf(std::sqrt(gaussian / 8));
  for (const auto& step : steps) sum += step.count * step.rate * std::erf(sensitivity / (std::sqrt(8.0) * step.noise_multiplier));
  return std::min(1.0, sum * (1 + 1e-12));
}

namespace {

constexpr std::size_t kDirect = 32;  // up to this many different steps are not interpolated
constexpr std::size_t kMaxParts = 1200;
constexpr std::size_t kMaxOpen = 400;
constexpr double kMinPartNoise = 0.04;
constexpr std::size_t kChecks = 12;  // steps whose interpolation is checked

std::vector<Schedule::Step> fewer_steps(const std::vector<Schedule::Step>& steps, std::size_t most) {
  if (steps.size() <= most) return steps;
  Spending spending;
  for (const auto& step : steps)
    spending.push_back({.rate = step.rate,
                        .noise_multiplier = step.noise_multiplier,
                        .count = static_cast<std::uint64_t>(std::ceil(step.count))});
  std::vector<Schedule::Step> fewer;
  for (const Releases& releases : coarser(spending, most))
    fewer.push_back({releases.rate, releases.noise_multiplier, static_cast<double>(releases.count)});
  return fewer;
}

std::vector<Composition::Open> opened_steps(const std::vector<Schedule::Step>& steps, Neighbours neighbours) {
  std::vector<Composition::Open> open;
  for (const Schedule::Step& step : fewer_steps(steps, kMaxOpen))
    open.push_back({{step.rate, step.noise_multiplier, neighbours == Neighbours::replace_one}, step.count});
  return open;
}

/// Chebyshev points on equal panels of [low, high], each at most `widest` long; one point if low == high.
struct Points {
  double low, high;
  std::size_t panels = 1;
  std::size_t degree = 1;
  std::vector<double> all;

  Points(double from, double to, double widest, std::size_t many) : low(from), high(to) {
    if (to > from) {
      panels = static_cast<std::size_t>(std::ceil((to - from) / widest));
      degree = many;
    }
    for (std::size_t i = 0; i < panels * degree; ++i) {
      const double angle = std::numbers::pi * (static_cast<double>(i % degree) + 0.5) / static_cast<double>(degree);
      const double place = degree == 1 ? 0.5 : 0.5 - 0.5 * std::cos(angle);
      const std::size_t panel = i / degree;
      all.push_back(low + (high - low) * (static_cast<double>(panel) + place) / static_cast<double>(panels));
    }
  }
  /// The index of the first point of x's panel, and the weight of each of the panel's points in the interpolation at x.
  std::pair<std::size_t, std::vector<double>> weights(double x) const {
    if (degree == 1) return {0, {1.0}};
    const double place = (x - low) / (high - low) * static_cast<double>(panels);
    const std::size_t first = std::min(panels - 1, static_cast<std::size_t>(std::max(0.0, place))) * degree;
    std::vector<double> weights(degree, 1.0);
    for (std::size_t i = 0; i < degree; ++i)
      for (std::size_t j = 0; j < degree; ++j)
        if (i != j) weights[i] *= (x - all[first + j]) / (all[first + i] - all[first + j]);
    return {first, weights};
  }
};

}  // namespace

Composition Schedule::opened() const {
  Composition result;
  result.gaussian = gaussian;
  result.open = opened_steps(steps, neighbours);
  return result;
}

Composition Schedule::composition(Pair pair) const {
  Composition result;
  result.gaussian = gaussian;
  std::vector<Step> quiet;  // with little noise
  std::vector<Step> louder;
  for (const Step& step : steps) (step.noise_multiplier < kMinPartNoise ? quiet : louder).push_back(step);
  result.open = opened_steps(quiet, neighbours);
  result.coarse = quiet.size() > kMaxOpen;
  const auto directly = [&] {
    result.coarse = result.coarse || louder.size() > kMaxParts;
    for (const auto& step : fewer_steps(louder, kMaxParts))
      result.parts.push_back({Loss(pair, step.rate, step.noise_multiplier), step.count});
    return result;
  };
  if (louder.size() <= kDirect) return directly();
  const auto by_rate = [](const Step& a, const Step& b) { return a.rate < b.rate; };
  const auto by_noise = [](const Step& a, const Step& b) { return a.noise_multiplier < b.noise_multiplier; };
  const auto [least, most] = std::minmax_element(louder.begin(), louder.end(), by_rate);
  const auto [quietest, loudest] = std::minmax_element(louder.begin(), louder.end(), by_noise);
  const Points rates(std::log(least->rate), std::log(most->rate), 1.2, 10);
  const Points noises(std::log(quietest->noise_multiplier), std::log(loudest->noise_multiplier), 0.4, 14);
  if (rates.all.size() * noises.all.size() >= std::min(louder.size(), kMaxParts)) return directly();
  std::vector<double> counts(rates.all.size() * noises.all.size());
  const std::size_t stride = std::max<std::size_t>(1, louder.size() / kChecks);
  for (std::size_t i = 0; i < louder.size(); ++i) {
    const auto [first_rate, rate_weights] = rates.weights(std::log(louder[i].rate));
    const auto [first_noise, noise_weights] = noises.weights(std::log(louder[i].noise_multiplier));
    std::vector<std::pair<std::size_t, double>> weights;
    for (std::size_t j = 0; j < rate_weights.size(); ++j)
      for (std::size_t k = 0; k < noise_weights.size(); ++k)
        weights.emplace_back((first_rate + j) * noises.all.size() + first_noise + k, rate_weights[j] * noise_weights[k]);
    for (const auto& [at, weight] : weights) counts[at] += weight * louder[i].count;
    result.interpolated += louder[i].count;
    if (i % stride == stride / 2)
      result.checks.push_back({Loss(pair, louder[i].rate, louder[i].noise_multiplier), std::move(weights)});
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    result.parts.push_back(
        {Loss(pair, std::exp(rates.all[i / noises.all.size()]), std::exp(noises.all[i % noises.all.size()])), counts[i]});
  result.slowest = Loss(pair, least->rate, loudest->noise_multiplier);
  return result;
}

}  // namespace fedstride::tight
