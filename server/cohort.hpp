#pragma once

#include <numeric>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "core/family.hpp"
#include "core/task.hpp"

namespace fedstride {

/// Every client, every round.
struct AllClients {
  static constexpr std::string_view kName = "all";
  static constexpr std::string_view kSummary = "every client takes part in every round";
  static constexpr auto kFields = std::tuple{};

  std::vector<ClientId> sample(std::uint32_t /*round*/, std::size_t clients) const {
    std::vector<ClientId> cohort(clients);
    std::iota(cohort.begin(), cohort.end(), ClientId{0});
    return cohort;
  }
};

/// The registry: who takes part in a round is sample(round, number of clients), a function of nothing else.
using Cohort = std::variant<AllClients>;

}  // namespace fedstride
