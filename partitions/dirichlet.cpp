#include "partitions/dirichlet.hpp"

#include <algorithm>
#include <cmath>

#include "partitions/dealing.hpp"
#include "partitions/simplex.hpp"

namespace fedstride {

Assignment Dirichlet::assign(const PartitionInput& input) const {
  check_input(input);
  check_settings(*this);
  const auto clients = static_cast<std::size_t>(input.clients);
  const std::vector<double> concentrations(clients, alpha);
  const auto by_class = shuffled_rows_by_class(input);

  Assignment assignment(clients);
  for (std::size_t label = 0; label < by_class.size(); ++label) {
    const auto& rows = by_class[label];
    if (rows.empty()) continue;
    RandomStream random = partition_stream(input.seed, PartitionDraw::client_shares, 0, label);
    const auto shares = normalised(log_gammas(concentrations, random));
    double cumulative = 0;
    std::size_t begin = 0;
    for (std::size_t client = 0; client < clients; ++client) {
      cumulative += shares[client];
      const auto cut = static_cast<std::size_t>(std::llround(cumulative * static_cast<double>(rows.size())));
      const std::size_t end = client + 1 == clients ? rows.size() : std::clamp(cut, begin, rows.size());
      assignment[client].insert(assignment[client].end(), rows.begin() + static_cast<std::ptrdiff_t>(begin),
                                rows.begin() + static_cast<std::ptrdiff_t>(end));
      begin = end;
    }
  }
  finish(assignment);
  return assignment;
}

}  // namespace fedstride
