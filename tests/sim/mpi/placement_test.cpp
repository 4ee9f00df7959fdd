#include "sim/mpi/placement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.hpp"
#include "sweep/ranks/mpi_sweep.hpp"

namespace fedstride::test::placement_test {

TEST_CASE("Graham's example: longest first gives 11 where the optimum is 9") {
  // R. L. Graham 1969, figure 6, for three processors: times 5, 5, 4, 4, 3, 3, 3.
  const std::vector<double> times{3, 4, 5, 3, 4, 5, 3};
  const auto placed = placed_by_cost(times, 3);
  CHECK(placed == std::vector<std::vector<std::size_t>>{{2, 0, 6}, {5, 3}, {1, 4}});
  double longest = 0;
  for (const auto& numbers : placed)
    longest = std::max(
        longest, std::accumulate(numbers.begin(), numbers.end(), 0.0, [&](double sum, std::size_t i) { return sum + times[i]; }));
  CHECK(longest == 11);
}

TEST_CASE("every item is placed once, within Graham's bound, and ties are broken by number") {
  for (std::uint32_t repetition = 0; repetition < 200; ++repetition) {
    RandomStream random(3, {.purpose = Purpose::test, .round = repetition});
    std::vector<double> costs(random.below(40));
    for (double& cost : costs) cost = static_cast<double>(1 + random.below(100));
    const std::size_t workers = 1 + random.below(7);
    const auto placed = placed_by_cost(costs, workers);
    REQUIRE(placed.size() == workers);
    std::vector<int> times(costs.size());
    double largest_load = 0;
    for (const auto& numbers : placed) {
      double load = 0;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        ++times[numbers[i]];
        load += costs[numbers[i]];
        if (i > 0) CHECK(costs[numbers[i - 1]] >= costs[numbers[i]]);
      }
      largest_load = std::max(largest_load, load);
    }
    CHECK(std::ranges::all_of(times, [](int count) { return count == 1; }));
    const double all = std::accumulate(costs.begin(), costs.end(), 0.0);
    const double largest = costs.empty() ? 0 : *std::ranges::max_element(costs);
    // List scheduling in any order: the worker that ends last started its last item when all others were busy.
    CHECK(largest_load <= all / static_cast<double>(workers) + largest * (1 - 1 / static_cast<double>(workers)) + 1e-9);
  }
  CHECK(placed_by_cost(std::vector<double>(4, 1.0), 3) == std::vector<std::vector<std::size_t>>{{0, 3}, {1}, {2}});
}

TEST_CASE("clients are placed by rows, including those without rows") {
  const std::vector<std::uint64_t> rows{5, 0, 40, 5, 0, 30};
  CHECK(placed_clients(std::vector<ClientId>{0, 2, 3, 4, 5}, rows, 2) == std::vector<std::vector<ClientId>>{{2, 4}, {5, 0, 3}});
  const auto few = placed_clients(std::vector<ClientId>{3}, rows, 3);
  CHECK(few == std::vector<std::vector<ClientId>>{{3}, {}, {}});
}

TEST_CASE("a group takes its own cells longest first, then steals the others' shortest first") {
  const std::vector<std::vector<std::size_t>> lists{{0, 5}, {3, 1, 4}, {2}};
  CHECK(order_of_group(lists, 0) == std::vector<std::size_t>{0, 5, 4, 1, 3, 2});
  CHECK(order_of_group(lists, 1) == std::vector<std::size_t>{3, 1, 4, 2, 5, 0});
  CHECK(order_of_group(lists, 2) == std::vector<std::size_t>{2, 5, 0, 4, 1, 3});
}

}  // namespace fedstride::test::placement_test
