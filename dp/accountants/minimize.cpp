#include "dp/accountants/minimize.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "core/stop.hpp"

namespace fedstride {
namespace {

using Coordinates = std::vector<double>;

double inner(const Coordinates& a, const Coordinates& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

Coordinates difference_of(const Coordinates& a, const Coordinates& b) {
  Coordinates difference(a.size());
  std::ranges::transform(a, b, difference.begin(), [](double x, double y) { return x - y; });
  return difference;
}

}  // namespace

std::vector<double> minimize(std::vector<double> start, int iterations,
                             function_ref<double(std::span<const double> at, std::span<double> gradient)> value) {
  constexpr std::size_t kMemory = 10;
  constexpr double kEnough = 1e-13;  // relative
  struct Pair {
    Coordinates moved, turned;
    double product;
  };
  std::deque<Pair> pairs;
  Coordinates at = std::move(start);
  Coordinates slope(at.size());
  double least = value(at, slope);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    check_stop();
    Coordinates way = slope;
    std::vector<double> shares(pairs.size());
    for (std::size_t i = pairs.size(); i-- > 0;) {
      shares[i] = inner(pairs[i].moved, way) / pairs[i].product;
      for (std::size_t j = 0; j < way.size(); ++j) way[j] -= shares[i] * pairs[i].turned[j];
    }
    const double scale = pairs.empty() ? 0.1 / std::sqrt(inner(slope, slope) + 1e-300)
                                       : pairs.back().product / inner(pairs.back().turned, pairs.back().turned);
    for (double& one : way) one *= scale;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const double share = shares[i] - inner(pairs[i].turned, way) / pairs[i].product;
      for (std::size_t j = 0; j < way.size(); ++j) way[j] += share * pairs[i].moved[j];
    }
    const double down = inner(slope, way);
    if (!(down > 0)) return at;
    Coordinates next(at.size()), next_slope(at.size());
    double found = 0;
    double step = 1;
    for (; step > 1e-12; step /= 2) {
      for (std::size_t j = 0; j < at.size(); ++j) next[j] = at[j] - step * way[j];
      found = value(next, next_slope);
      if (found <= least - 1e-4 * step * down) break;
    }
    if (step <= 1e-12) return at;
    Pair pair{difference_of(next, at), difference_of(next_slope, slope), 0};
    pair.product = inner(pair.moved, pair.turned);
    if (pair.product > 0) pairs.push_back(std::move(pair));
    if (pairs.size() > kMemory) pairs.pop_front();
    const bool done = least - found <= kEnough * std::abs(found);
    at = std::move(next);
    slope = std::move(next_slope);
    least = found;
    if (done) return at;
  }
  return at;
}

}  // namespace fedstride
