#include "sweep/results/paired.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "core/probability.hpp"

namespace fedstride {
namespace {

/// Returns the finished cells' values of the metric, keyed by seed.
std::map<std::string, double> numbers_by_seed(const Seeds& seeds, std::string_view metric) {
  std::map<std::string, double> numbers;
  for (const CellResult* cell : seeds) {
    if (cell->status != "finished") continue;
    if (const double value = cell->numbers.of(metric); !std::isnan(value)) numbers[cell->cell.value_of("seed")] = value;
  }
  return numbers;
}

}  // namespace

double paired_p(std::span<const double> differences) {
  constexpr double kNoTest = std::numeric_limits<double>::quiet_NaN();
  if (differences.size() < 2) return kNoTest;
  const SeedStatistics all = statistics(differences);
  if (all.deviation == 0) return all.mean == 0 ? 1 : kNoTest;
  const double t = std::fabs(all.mean) / (all.deviation / std::sqrt(all.n));
  return student_t_two_sided(t, all.n - 1);
}

std::vector<Compared> compared(const std::vector<Seeds>& configurations, std::string_view metric, bool highest) {
  std::vector<Compared> all(configurations.size());
  std::vector<std::map<std::string, double>> numbers;
  std::size_t best = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    numbers.push_back(numbers_by_seed(configurations[i], metric));
    std::vector<double> values;
    for (const auto& [seed, value] : numbers[i]) values.push_back(value);
    all[i].p = std::numeric_limits<double>::quiet_NaN();
    if (is_to_target(metric))
      for (const CellResult* cell : configurations[i])
        all[i].never += cell->status == "finished" && !numbers[i].contains(cell->cell.value_of("seed")) ? 1 : 0;
    if (all[i].never > 0) numbers[i].clear();  // the mean over the other seeds would be too low
    if (numbers[i].empty()) continue;
    all[i].statistics = statistics(values);
    const double mean = all[i].statistics.mean;
    if (best == all.size() || (highest ? mean > all[best].statistics.mean : mean < all[best].statistics.mean)) best = i;
  }
  if (std::ranges::count_if(all, [](const Compared& one) { return one.statistics.n > 0; }) < 2) return all;
  std::vector<std::size_t> tested;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].is_best = all[i].statistics.n > 0 && all[i].statistics.mean == all[best].statistics.mean;
    if (i == best) continue;
    std::vector<double> differences;
    for (const auto& [seed, value] : numbers[i])
      if (const auto other = numbers[best].find(seed); other != numbers[best].end()) differences.push_back(other->second - value);
    if (differences.empty()) continue;
    all[i].lead = statistics(differences);
    if (all[i].lead.n >= kMinTestedPairs) all[i].p = paired_p(differences);
    if (!std::isnan(all[i].p)) tested.push_back(i);
  }
  // Holm's method: multiplies the smallest p-value by the number of tests, the next by one less, and so on; no p-value may fall
  // below the previous one.
  std::ranges::stable_sort(tested, {}, [&](std::size_t i) { return all[i].p; });
  double before = 0;
  for (std::size_t k = 0; k < tested.size(); ++k) {
    double& p = all[tested[k]].p;
    before = p = std::max(before, std::min(1.0, p * static_cast<double>(tested.size() - k)));
  }
  return all;
}

}  // namespace fedstride
