#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
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

/// The facts by which a cohort is drawn.
struct CohortQuestion {
  std::uint32_t round = 1;
  std::span<const std::uint64_t> rows = {};  ///< of each client
  const RandomSource& source;
  /// Each client's last mean training loss, NaN if it has told none; empty unless the kind of cohort asks for them.
  std::span<const double> losses = {};

  std::size_t clients() const { return rows.size(); }
};

// Every kind says kIndependent: whether a client takes part whoever else there is. If not, one client that is there displaces others,
// and no guarantee can hide that it is there (run/neighbours.hpp).

/// Every client, every round.
struct AllClients {
  static constexpr std::string_view kName = "all";
  static constexpr std::string_view kSummary = "every client takes part in every round";
  static constexpr bool kIndependent = true;
  static constexpr auto kFields = std::tuple{};

  std::vector<ClientId> sample(const CohortQuestion& question) const { return all_clients(question.clients()); }
  double rate(std::size_t /*clients*/) const { return 1; }
};

/// Each client independently with the same probability; the round may be empty.
struct PoissonCohort {
  double cohort_rate = 0.1;

  static constexpr std::string_view kName = "poisson";
  static constexpr std::string_view kSummary = "each client takes part with the same probability";
  static constexpr bool kIndependent = true;
  static constexpr auto kFields =
      std::tuple{Field{"cohort-rate", &PoissonCohort::cohort_rate, "probability that a client takes part in a round",
                       Valid{.low = 0, .high = 1, .low_included = false}}};

  std::vector<ClientId> sample(const CohortQuestion& question) const {
    std::vector<ClientId> drawn;
    draw_poisson(question.source, {Purpose::cohort, question.round}, cohort_rate, all_clients(question.clients()), drawn);
    return drawn;
  }
  double rate(std::size_t /*clients*/) const { return cohort_rate; }
};

/// The cohorts that have a fixed number of clients.
struct CohortSize {
  int cohort_size = 10;

  static constexpr auto kSizeField =
      std::tuple{Field{"cohort-size", &CohortSize::cohort_size, "clients in a round", Valid{.low = 1, .high = 1e6}}};
  /// Throws Error (usage) if a cohort is larger than the federation.
  std::size_t most(std::size_t clients) const;
  std::size_t size(std::size_t clients) const { return std::min(clients, static_cast<std::size_t>(cohort_size)); }
  double rate(std::size_t clients) const { return std::min(1.0, cohort_size / static_cast<double>(clients)); }
};

/// A fixed number of clients, uniformly.
struct FixedCohort : CohortSize {
  static constexpr std::string_view kName = "fixed";
  static constexpr std::string_view kSummary = "a fixed number of clients, drawn uniformly";
  static constexpr bool kIndependent = false;
  static constexpr auto kFields = kSizeField;

  std::vector<ClientId> sample(const CohortQuestion& question) const {
    std::vector<ClientId> drawn;
    draw_without_replacement(question.source, {Purpose::cohort, question.round}, size(question.clients()),
                             all_clients(question.clients()), drawn);
    return drawn;
  }
};

/// A fixed number of clients, one after the other with chances in proportion to their numbers of examples (Efraimidis & Spirakis
/// 2006: those with the largest u^(1/n_k), u uniform).
struct SizeCohort : CohortSize {
  static constexpr std::string_view kName = "by-size";
  static constexpr std::string_view kSummary = "a fixed number of clients, larger ones more often";
  static constexpr bool kIndependent = false;
  static constexpr auto kFields = kSizeField;

  std::vector<ClientId> sample(const CohortQuestion& question) const;
};
/// `count` clients drawn so, in order of clients.
std::vector<ClientId> draw_by_size(const CohortQuestion& question, std::size_t count);

/// Clients take turns in the order of their numbers.
struct RoundRobinCohort : CohortSize {
  static constexpr std::string_view kName = "round-robin";
  static constexpr std::string_view kSummary = "a fixed number of clients, in turn";
  static constexpr bool kIndependent = false;
  static constexpr auto kFields = kSizeField;

  std::vector<ClientId> sample(const CohortQuestion& question) const;
};

/// Power-of-choice (Cho, Wang & Joshi 2022, Algorithm 1 in its form rpow-d): of d candidates drawn by size those of largest loss,
/// the loss being the last that each has told. Clients that have told none come first.
struct PowerOfChoiceCohort : CohortSize {
  int candidates = 20;

  static constexpr std::string_view kName = "power-of-choice";
  static constexpr std::string_view kSummary = "of candidates drawn by size, those of largest loss (Cho et al. 2022)";
  static constexpr bool kIndependent = false;
  static constexpr auto kFields = std::tuple_cat(
      kSizeField, std::tuple{Field{"candidates", &PowerOfChoiceCohort::candidates,
                                   "candidates d of whom those of largest loss take part; at least cohort-size", kAtLeastOne}});
  static constexpr bool kAsksForLosses = true;

  std::vector<ClientId> sample(const CohortQuestion& question) const;
};

/// The clients that a file says are there in that round; a number of them, if more are, uniformly.
struct TraceCohort {
  std::string trace;
  int at_most = 0;

  static constexpr std::string_view kName = "trace";
  static constexpr std::string_view kSummary = "the clients that a file says are there";
  static constexpr bool kIndependent = false;
  static constexpr auto kFields = std::tuple{
      Field{"trace", &TraceCohort::trace,
            "CSV file of when clients are there, with the header client,from,to: a client's number and the first and last of "
            "rounds",
            kFile},
      Field{"at-most", &TraceCohort::at_most, "clients in a round at most, drawn from those that are there; 0: all of them",
            Valid{.low = 0, .high = 1e6}}};

  std::vector<ClientId> sample(const CohortQuestion& question) const;
  double rate(std::size_t clients) const;
  std::size_t most(std::size_t clients) const { return at_most == 0 ? clients : static_cast<std::size_t>(at_most); }
  /// Throws Error (usage or failure) if the file is missing, is no such file, or names clients that are not there.
  std::string file_hash(std::size_t clients) const;
};

/// The abstract interface of a cohort: the clients of a round. sample is a function of its arguments alone; rate is the
/// probability that a client takes part, on average.
class CohortPart : public Part {
 public:
  static PartFamily& family();  ///< server/cohort.cpp has the list
  template <class P>
  using Of = CohortOf<P>;

  virtual std::vector<ClientId> sample(const CohortQuestion& question) const = 0;
  virtual double rate(std::size_t clients) const = 0;
  virtual bool asks_for_losses() const = 0;
  /// True if whether a client takes part does not depend on who else there is.
  virtual bool is_independent() const = 0;
  /// The most clients of a round. Throws Error (usage) if it cannot draw from so few.
  virtual std::size_t most(std::size_t clients) const = 0;
  /// Hash of the file that it reads; empty if it reads none. Throws Error if that does not fit the clients.
  virtual std::string file_hash(std::size_t clients) const = 0;
};

template <class P>
class CohortOf final : public PartOf<CohortPart, CohortOf<P>, P> {
 public:
  using PartOf<CohortPart, CohortOf<P>, P>::PartOf;
  std::vector<ClientId> sample(const CohortQuestion& question) const final { return this->part_.sample(question); }
  bool is_independent() const final { return P::kIndependent; }
  double rate(std::size_t clients) const final { return this->part_.rate(clients); }
  bool asks_for_losses() const final {
    if constexpr (requires { P::kAsksForLosses; }) return P::kAsksForLosses;
    return false;
  }
  std::size_t most(std::size_t clients) const final {
    if constexpr (requires { this->part_.most(clients); }) return this->part_.most(clients);
    return clients;
  }
  std::string file_hash(std::size_t clients) const final {
    if constexpr (requires { this->part_.file_hash(clients); }) return this->part_.file_hash(clients);
    return {};
  }
};

/// A kind of cohort that has been chosen; the default is all clients.
using Cohort = Chosen<CohortPart>;

}  // namespace fedstride
