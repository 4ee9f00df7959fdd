#include "sim/mpi/ranks_bench.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/function_ref.hpp"
#include "core/seconds_since.hpp"

namespace fedstride {
namespace {

// Before each repetition, rank 0 broadcasts whether there is another; no rank starts before all are ready.
double median_of(Ranks& ranks, double seconds, function_ref<void()> exchange) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<double> times;
  for (;;) {
    ranks.gather({}, 0);
    std::string again(1, times.size() < 3 || seconds_since(begin) < seconds ? 'y' : 'n');
    ranks.broadcast(again, 1);
    if (again[0] == 'n') break;
    const auto start = std::chrono::steady_clock::now();
    exchange();
    ranks.gather({}, 0);
    times.push_back(seconds_since(start));
  }
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

}  // namespace

RanksSpeed measure_ranks(Ranks& ranks, std::size_t parameters, double seconds) {
  std::vector<__int128> integers(parameters, ranks.rank());
  std::vector<float> numbers(parameters);
  const std::string answer(1024, 'x');
  return {.sum = median_of(ranks, seconds, [&] { ranks.sum(integers); }),
          .broadcast = median_of(ranks, seconds, [&] { ranks.broadcast(std::span(numbers)); }),
          .answers = median_of(ranks, seconds, [&] { ranks.gather(answer, answer.size()); })};
}

}  // namespace fedstride
