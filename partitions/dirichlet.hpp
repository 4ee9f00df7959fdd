#pragma once

#include <algorithm>
#include <cmath>

#include "partitions/dealing.hpp"
#include "partitions/partitions.hpp"
#include "partitions/simplex.hpp"

namespace fedstride {

struct DirichletSettings {
  double alpha = 0.5;

  static constexpr auto kFields = fields(Field{"alpha", &DirichletSettings::alpha, kAlphaHelp, kPositive}.often());
};

/// Splits each class across the clients in proportions drawn from the symmetric Dirichlet(alpha, ..., alpha) (Yurochkin et al.
/// 2019), so client sizes differ. With a small alpha, few clients hold each class; with a large one, all hold nearly equal
/// shares. No draw is repeated or rejected: a client left without rows takes one from the largest client.
struct Dirichlet final : PartBase<PartitionPart, Dirichlet, DirichletSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "dirichlet";
  static constexpr std::string_view kSummary = "each class split across clients by Dirichlet(alpha), client sizes unequal";

  Dealing dealing() const override { return Dealing::labels; }
  ClientRows assign(const PartitionInput& input) const override {
    check_input(input);
    check();
    const auto clients = static_cast<std::size_t>(input.clients);
    const std::vector<double> concentrations(clients, alpha);
    const auto by_class = shuffled_rows_by_class(input);

    Assignment assignment(clients);
    for (std::size_t label = 0; label < by_class.size(); ++label) {
      const auto& rows = by_class[label];
      if (rows.empty()) continue;
      RandomStream random = partition_stream(input.seed, PartitionDraw::client_shares, 0, label);
      const auto shares = normalized(log_gammas(concentrations, random));
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
};

}  // namespace fedstride
