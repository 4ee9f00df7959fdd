#pragma once

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/part.hpp"
#include "core/random.hpp"
#include "core/task.hpp"
#include "dp/noise/sampling.hpp"

namespace fedstride {

template <class P>
class CohortOf;

inline std::vector<ClientId> all_clients(std::size_t clients) {
  std::vector<ClientId> everyone(clients);
  std::iota(everyone.begin(), everyone.end(), ClientId{0});
  return everyone;
}

/// Every client, every round.
struct AllClients {
  static constexpr std::string_view kName = "all";
  static constexpr std::string_view kSummary = "every client takes part in every round";
  static constexpr auto kFields = std::tuple{};

  std::vector<ClientId> sample(std::uint32_t /*round*/, std::size_t clients, const RandomSource& /*source*/) const {
    return all_clients(clients);
  }
  double rate(std::size_t /*clients*/) const { return 1; }
};

/// Each client independently with the same probability; the round may be empty.
struct PoissonCohort {
  double cohort_rate = 0.1;

  static constexpr std::string_view kName = "poisson";
  static constexpr std::string_view kSummary = "each client takes part with the same probability";
  static constexpr auto kFields =
      std::tuple{Field{"cohort-rate", &PoissonCohort::cohort_rate, "probability that a client takes part in a round",
                       Valid{.low = 0, .high = 1, .low_included = false}}};

  std::vector<ClientId> sample(std::uint32_t round, std::size_t clients, const RandomSource& source) const {
    std::vector<ClientId> drawn;
    draw_poisson(source, {Purpose::cohort, round}, cohort_rate, all_clients(clients), drawn);
    return drawn;
  }
  double rate(std::size_t /*clients*/) const { return cohort_rate; }
};

/// A fixed number of clients, uniformly.
struct FixedCohort {
  int cohort_size = 10;

  static constexpr std::string_view kName = "fixed";
  static constexpr std::string_view kSummary = "a fixed number of clients, drawn uniformly";
  static constexpr auto kFields =
      std::tuple{Field{"cohort-size", &FixedCohort::cohort_size, "clients in a round", Valid{.low = 1, .high = 1e6}}};

  std::vector<ClientId> sample(std::uint32_t round, std::size_t clients, const RandomSource& source) const {
    std::vector<ClientId> drawn;
    draw_without_replacement(source, {Purpose::cohort, round}, std::min(clients, static_cast<std::size_t>(cohort_size)),
                             all_clients(clients), drawn);
    return drawn;
  }
  double rate(std::size_t clients) const { return std::min(1.0, cohort_size / static_cast<double>(clients)); }
};

/// The abstract interface of a cohort: the clients of a round. sample is a function of its arguments alone; rate is the
/// probability that a given client takes part.
class CohortPart : public Part {
 public:
  static PartFamily& family();  ///< server/cohort.cpp has the list
  template <class P>
  using Of = CohortOf<P>;

  virtual std::vector<ClientId> sample(std::uint32_t round, std::size_t clients, const RandomSource& source) const = 0;
  virtual double rate(std::size_t clients) const = 0;
};

template <class P>
class CohortOf final : public PartOf<CohortPart, CohortOf<P>, P> {
 public:
  using PartOf<CohortPart, CohortOf<P>, P>::PartOf;
  std::vector<ClientId> sample(std::uint32_t round, std::size_t clients, const RandomSource& source) const final {
    return this->part_.sample(round, clients, source);
  }
  double rate(std::size_t clients) const final { return this->part_.rate(clients); }
};

/// A kind of cohort that has been chosen; the default is all clients.
using Cohort = Chosen<CohortPart>;

}  // namespace fedstride
