#include "sim/mpi/placement.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

namespace fedstride {

std::vector<std::vector<std::size_t>> placed_by_cost(std::span<const double> costs, std::size_t workers) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return costs[i]; });
  using Load = std::pair<double, std::size_t>;  // a worker's load and its number
  std::priority_queue<Load, std::vector<Load>, std::greater<>> least;
  for (std::size_t worker = 0; worker < workers; ++worker) least.emplace(0, worker);
  std::vector<std::vector<std::size_t>> placed(workers);
  for (const std::size_t i : order) {
    auto [load, worker] = least.top();
    least.pop();
    placed[worker].push_back(i);
    least.emplace(load + costs[i], worker);
  }
  return placed;
}

std::vector<std::vector<ClientId>> placed_clients(std::span<const ClientId> cohort, std::span<const std::uint64_t> row_counts,
                                                  std::size_t ranks) {
  std::vector<double> costs;
  costs.reserve(cohort.size());
  // Even a client without rows has a cost, since its update is as large as the model.
  for (const ClientId client : cohort) costs.push_back(static_cast<double>(row_counts[client]) + 1);
  std::vector<std::vector<ClientId>> placed;
  for (const auto& numbers : placed_by_cost(costs, ranks)) {
    auto& clients = placed.emplace_back();
    for (const std::size_t number : numbers) clients.push_back(cohort[number]);
  }
  return placed;
}

}  // namespace fedstride
