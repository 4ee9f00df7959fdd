#include "partitions/inner_dirichlet.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/elementary.hpp"
#include "partitions/dealing.hpp"
#include "partitions/simplex.hpp"

namespace fedstride {
namespace {

std::vector<std::size_t> lognormal_sizes(const PartitionInput& input, double sigma) {
  RandomStream random = partition_stream(input.seed, PartitionDraw::client_sizes);
  std::vector<double> logs(static_cast<std::size_t>(input.clients));
  if (sigma > 0)
    for (double& value : logs) value = sigma * random.normal();
  return sizes_in_proportion(normalized(logs), input.rows.size());
}

/// All clients' log priors over the classes that have rows.
class Priors {
 public:
  Priors(const PartitionInput& input, double alpha, std::size_t classes) : classes_(classes) {
    const std::vector<double> concentrations(classes, alpha);
    logs_.reserve(static_cast<std::size_t>(input.clients) * classes);
    for (std::size_t client = 0; client < static_cast<std::size_t>(input.clients); ++client) {
      RandomStream random = partition_stream(input.seed, PartitionDraw::class_shares, client);
      const auto logs = log_gammas(concentrations, random);
      logs_.insert(logs_.end(), logs.begin(), logs.end());
    }
    cumulative_.resize(classes);
  }

  /// Draws a class that still has rows, according to the client's priors.
  std::size_t draw(std::size_t client, const std::vector<std::vector<std::uint32_t>>& by_class, RandomStream& random) {
    const double* logs = logs_.data() + client * classes_;
    std::size_t likeliest = classes_;
    for (std::size_t label = 0; label < classes_; ++label)
      if (!by_class[label].empty() && (likeliest == classes_ || logs[label] > logs[likeliest])) likeliest = label;
    double sum = 0;
    for (std::size_t label = 0; label < classes_; ++label)
      cumulative_[label] = sum += by_class[label].empty() ? 0 : portable::exp(logs[label] - logs[likeliest]);
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), random.uniform() * sum);
    return found == cumulative_.end() ? likeliest : static_cast<std::size_t>(found - cumulative_.begin());
  }

 private:
  std::size_t classes_;
  std::vector<double> logs_;
  std::vector<double> cumulative_;
};

}  // namespace

ClientRows InnerDirichlet::assign(const PartitionInput& input) const {
  check_input(input);
  check();
  auto by_class = shuffled_rows_by_class(input);
  std::erase_if(by_class, [](const auto& rows) { return rows.empty(); });
  const std::vector<std::size_t> sizes = lognormal_sizes(input, size_sigma);
  Priors priors(input, alpha, by_class.size());

  std::vector<std::size_t> unfilled(sizes.size());
  std::iota(unfilled.begin(), unfilled.end(), std::size_t{0});
  RandomStream random = partition_stream(input.seed, PartitionDraw::turns);
  Assignment assignment(sizes.size());
  while (!unfilled.empty()) {
    const auto turn = static_cast<std::size_t>(random.below(unfilled.size()));
    const std::size_t client = unfilled[turn];
    auto& rows = by_class[priors.draw(client, by_class, random)];
    assignment[client].push_back(rows.back());
    rows.pop_back();
    if (assignment[client].size() < sizes[client]) continue;
    unfilled[turn] = unfilled.back();
    unfilled.pop_back();
  }
  finish(assignment);
  return assignment;
}

}  // namespace fedstride
