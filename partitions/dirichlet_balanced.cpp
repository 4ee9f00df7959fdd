#include "partitions/dirichlet_balanced.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "partitions/dealing.hpp"
#include "partitions/simplex.hpp"

namespace fedstride {
namespace {

// A client's proportions over the classes that still have rows, ready to draw from.
class ClassMixture {
 public:
  explicit ClassMixture(std::vector<double> logs) : logs_(std::move(logs)) { prepare(); }

  std::size_t draw(RandomStream& random) const {
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), random.uniform() * cumulative_.back());
    return found == cumulative_.end() ? likeliest_ : static_cast<std::size_t>(found - cumulative_.begin());
  }
  void leave_out(std::size_t label) {
    logs_[label] = -std::numeric_limits<double>::infinity();
    prepare();
  }

 private:
  void prepare() {
    likeliest_ = static_cast<std::size_t>(std::max_element(logs_.begin(), logs_.end()) - logs_.begin());
    cumulative_ = normalised(logs_);
    std::partial_sum(cumulative_.begin(), cumulative_.end(), cumulative_.begin());
  }

  std::vector<double> logs_;
  std::vector<double> cumulative_;
  std::size_t likeliest_ = 0;
};

}  // namespace

Assignment DirichletBalanced::assign(const PartitionInput& input) const {
  check_input(input);
  check_settings(*this);
  auto by_class = shuffled_rows_by_class(input);
  std::erase_if(by_class, [](const auto& rows) { return rows.empty(); });
  const auto count = static_cast<double>(input.rows.size());
  std::vector<double> concentrations;
  concentrations.reserve(by_class.size());
  for (const auto& rows : by_class) concentrations.push_back(alpha * (static_cast<double>(rows.size()) / count));

  Assignment assignment(static_cast<std::size_t>(input.clients));
  for (std::size_t client = 0; client < assignment.size(); ++client) {
    RandomStream shares = partition_stream(input.seed, PartitionDraw::class_shares, client);
    auto logs = log_gammas(concentrations, shares);
    for (std::size_t i = 0; i < by_class.size(); ++i)
      if (by_class[i].empty()) logs[i] = -std::numeric_limits<double>::infinity();
    ClassMixture mixture(std::move(logs));

    RandomStream picks = partition_stream(input.seed, PartitionDraw::class_picks, client);
    const std::size_t size = even_piece(input.rows, client, assignment.size()).size();
    while (assignment[client].size() < size) {
      const std::size_t pick = mixture.draw(picks);
      auto& rows = by_class[pick];
      assignment[client].push_back(rows.back());
      rows.pop_back();
      if (rows.empty() && assignment[client].size() < size) mixture.leave_out(pick);
    }
  }
  finish(assignment);
  return assignment;
}

}  // namespace fedstride
