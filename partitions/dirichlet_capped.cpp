#include "partitions/dirichlet_capped.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/error.hpp"
#include "core/text.hpp"
#include "partitions/dealing.hpp"
#include "partitions/simplex.hpp"

namespace fedstride {
namespace {

/// The ends of the clients' pieces of each class; empty for a class without rows.
using Ends = std::vector<std::vector<std::size_t>>;

/// The ends of the pieces into which a class is split across the clients that hold fewer than `cap` rows.
std::vector<std::size_t> ends_of_class(std::size_t rows, std::vector<double> logs, std::span<const std::size_t> sizes,
                                       double cap) {
  std::size_t last = 0;
  for (std::size_t client = 0; client < sizes.size(); ++client) {
    if (static_cast<double>(sizes[client]) < cap)
      last = client;
    else
      logs[client] = -std::numeric_limits<double>::infinity();
  }
  const auto shares = normalized(logs);
  std::vector<std::size_t> ends;
  double cumulative = 0;
  for (std::size_t client = 0; client < sizes.size(); ++client) {
    cumulative += shares[client];
    const auto cut = static_cast<std::size_t>(cumulative * static_cast<double>(rows));
    ends.push_back(client >= last ? rows : std::min(cut, rows));
  }
  return ends;
}

/// Makes one draw; returns nothing if any client has fewer than `least` rows.
std::optional<Ends> drawn(const PartitionInput& input, double alpha, std::size_t least, std::size_t draw,
                          std::span<const std::vector<std::uint32_t>> by_class) {
  const auto clients = static_cast<std::size_t>(input.clients);
  const double cap = static_cast<double>(input.rows.size()) / static_cast<double>(clients);
  const std::vector<double> concentrations(clients, alpha);
  std::vector<std::size_t> sizes(clients);
  Ends ends(by_class.size());
  for (std::size_t label = 0; label < by_class.size(); ++label) {
    if (by_class[label].empty()) continue;
    RandomStream random = partition_stream(input.seed, PartitionDraw::capped_shares, draw, label);
    ends[label] = ends_of_class(by_class[label].size(), log_gammas(concentrations, random), sizes, cap);
    for (std::size_t client = 0, begin = 0; client < clients; begin = ends[label][client], ++client)
      sizes[client] += ends[label][client] - begin;
  }
  return *std::ranges::min_element(sizes) < least ? std::nullopt : std::optional(std::move(ends));
}

/// The maximum number of draws to try: fewer if each draw takes longer.
std::size_t most_draws(const PartitionInput& input) {
  constexpr double kShares = 1e8;
  return static_cast<std::size_t>(std::clamp(kShares / (static_cast<double>(input.clients) * input.classes), 1.0, 1e4));
}

}  // namespace

ClientRows DirichletCapped::assign(const PartitionInput& input) const {
  check_input(input);
  check();
  const auto clients = static_cast<std::size_t>(input.clients);
  const auto least = static_cast<std::size_t>(least_rows);
  const std::string refused = "least-rows is " + std::to_string(least) + "; ";
  if (least > input.rows.size() / clients)
    throw usage_error(refused + counted(clients, "client") + " and " + counted(input.rows.size(), "row") + " allow at most " +
                      std::to_string(input.rows.size() / clients));

  const auto by_class = shuffled_rows_by_class(input);
  const std::size_t draws = most_draws(input);
  std::optional<Ends> ends;
  for (std::size_t draw = 0; !ends; ++draw) {
    if (draw == draws)
      throw usage_error(refused + "none of " + counted(draws, "draw") + " over " + counted(clients, "client") +
                        " gave every client that many rows; use a smaller number, a larger alpha or fewer clients");
    ends = drawn(input, alpha, least, draw, by_class);
  }

  Assignment assignment(clients);
  for (std::size_t label = 0; label < by_class.size(); ++label) {
    if (by_class[label].empty()) continue;
    for (std::size_t client = 0, begin = 0; client < clients; begin = (*ends)[label][client], ++client)
      assignment[client].insert(assignment[client].end(), by_class[label].begin() + static_cast<std::ptrdiff_t>(begin),
                                by_class[label].begin() + static_cast<std::ptrdiff_t>((*ends)[label][client]));
  }
  finish(assignment);
  return assignment;
}

}  // namespace fedstride
