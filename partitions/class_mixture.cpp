#include "partitions/class_mixture.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "partitions/simplex.hpp"

namespace fedstride {

std::size_t ClassMixture::draw(RandomStream& random) const {
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), random.uniform() * cumulative_.back());
  return found == cumulative_.end() ? likeliest_ : static_cast<std::size_t>(found - cumulative_.begin());
}

void ClassMixture::leave_out(std::size_t label) {
  logs_[label] = -std::numeric_limits<double>::infinity();
  prepare();
}

void ClassMixture::prepare() {
  likeliest_ = static_cast<std::size_t>(std::max_element(logs_.begin(), logs_.end()) - logs_.begin());
  cumulative_ = normalized(logs_);
  std::partial_sum(cumulative_.begin(), cumulative_.end(), cumulative_.begin());
}

Assignment dealt_by_mixture(const PartitionInput& input, double alpha, std::span<const std::size_t> sizes) {
  auto by_class = shuffled_rows_by_class(input);
  std::erase_if(by_class, [](const auto& rows) { return rows.empty(); });
  const auto count = static_cast<double>(input.rows.size());
  std::vector<double> concentrations;
  concentrations.reserve(by_class.size());
  for (const auto& rows : by_class) concentrations.push_back(alpha * (static_cast<double>(rows.size()) / count));

  Assignment assignment(sizes.size());
  for (std::size_t client = 0; client < assignment.size(); ++client) {
    RandomStream shares = partition_stream(input.seed, PartitionDraw::class_shares, client);
    auto logs = log_gammas(concentrations, shares);
    for (std::size_t i = 0; i < by_class.size(); ++i)
      if (by_class[i].empty()) logs[i] = -std::numeric_limits<double>::infinity();
    ClassMixture mixture(std::move(logs));

    RandomStream picks = partition_stream(input.seed, PartitionDraw::class_picks, client);
    while (assignment[client].size() < sizes[client]) {
      const std::size_t pick = mixture.draw(picks);
      auto& rows = by_class[pick];
      assignment[client].push_back(rows.back());
      rows.pop_back();
      if (rows.empty() && assignment[client].size() < sizes[client]) mixture.leave_out(pick);
    }
  }
  finish(assignment);
  return assignment;
}

}  // namespace fedstride
