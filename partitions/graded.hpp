#pragma once

#include <cmath>

#include "core/elementary.hpp"
#include "partitions/dealing.hpp"
#include "partitions/partitions.hpp"

namespace fedstride {

/// Assigns random rows, with client sizes that grow with the client number (Flower Datasets' linear, square and exponential
/// partitioners): client k = 0, 1, ... gets a share proportional to Self::weight(k, clients). Sizes are rounded by the largest
/// remainder method, and every client gets at least one row (sizes_in_proportion).
template <class Self>
struct Graded : PartBase<PartitionPart, Self> {
  Dealing dealing() const final { return Dealing::counts; }
  ClientRows assign(const PartitionInput& input) const final {
    check_input(input);
    std::vector<double> weights;
    for (int client = 0; client < input.clients; ++client) weights.push_back(Self::weight(client, input.clients));
    return dealt_by_size(input, sizes_in_proportion(weights, input.rows.size()));
  }
};

struct Linear final : Graded<Linear> {
  static constexpr std::string_view kName = "linear";
  static constexpr std::string_view kSummary = "random rows, client k's size proportional to k + 1";
  static double weight(double client, int /*clients*/) { return client + 1; }
};

struct Square final : Graded<Square> {
  static constexpr std::string_view kName = "square";
  static constexpr std::string_view kSummary = "random rows, client k's size proportional to (k + 1)^2";
  static double weight(double client, int /*clients*/) { return (client + 1) * (client + 1); }
};

/// The last client has 63% of the rows, the previous one 23%, and so on; a client whose share is less than a row gets one row.
struct Exponential final : Graded<Exponential> {
  static constexpr std::string_view kName = "exponential";
  static constexpr std::string_view kSummary = "random rows, client k's size proportional to exp(k)";
  static double weight(double client, int clients) { return portable::exp(client - (clients - 1)); }
};

}  // namespace fedstride
