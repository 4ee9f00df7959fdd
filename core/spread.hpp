#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace fedstride {

/// The spread of numbers, one per client.
struct Spread {
  double mean = 0;
  double deviation = 0;  ///< population standard deviation
  double tenth = 0;      ///< 10th percentile; percentiles are interpolated between the two nearest numbers
  double median = 0;
  double ninetieth = 0;
  double worst_tenth = 0;  ///< mean of the smallest tenth of the numbers (at least one number)
};

/// The spread of the numbers; all 0 if there are none.
inline Spread spread_of(std::vector<double> numbers) {
  Spread spread;
  if (numbers.empty()) return spread;
  std::ranges::sort(numbers);
  const auto count = static_cast<double>(numbers.size());
  const auto percentile = [&](double share) {
    const double place = share * (count - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, numbers.size() - 1);
    return numbers[below] + (place - static_cast<double>(below)) * (numbers[above] - numbers[below]);
  };
  spread.mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
  for (const double number : numbers) spread.deviation += (number - spread.mean) * (number - spread.mean);
  spread.deviation = std::sqrt(spread.deviation / count);
  spread.tenth = percentile(0.1);
  spread.median = percentile(0.5);
  spread.ninetieth = percentile(0.9);
  const std::size_t worst = std::max<std::size_t>(1, (numbers.size() + 9) / 10);
  spread.worst_tenth =
      std::accumulate(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(worst), 0.0) / static_cast<double>(worst);
  return spread;
}

}  // namespace fedstride
