#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/setting.hpp"
#include "dp/noise/sampling.hpp"
#include "server/cohort.hpp"

namespace fedstride {

std::vector<ClientId> all_clients(std::size_t clients);

/// Draws `count` clients one by one without replacement, with probability proportional to their number of examples (Efraimidis &
/// Spirakis 2006: those with the largest u^(1/n_k), u uniform); returns them in order of clients.
std::vector<ClientId> draw_by_size(const CohortQuestion& question, std::size_t count);

/// Every client takes part in every round.
struct AllClients final : PartBase<CohortPart, AllClients> {
  static constexpr std::string_view kName = "all";
  static constexpr std::string_view kSummary = "every client takes part in every round";

  std::vector<ClientId> sample(const CohortQuestion& question) const override { return all_clients(question.clients()); }
  double rate(std::size_t /*clients*/) const override { return 1; }
  std::size_t least(std::size_t clients) const override { return clients; }
  bool is_independent() const override { return true; }
};

/// The minimum number of `clients` that independent draws with this rate select, except with probability 2^-40 (Chernoff's
/// bound: P[X <= k] is at most exp(-n KL(k/n || rate))).
std::size_t fewest_drawn(std::size_t clients, double rate);

struct PoissonCohortSettings {
  double cohort_rate = 0.1;
  static constexpr auto kFields =
      fields(Field{"cohort-rate", &PoissonCohortSettings::cohort_rate, "probability that a client takes part in a round",
                   Valid{.low = 0, .high = 1, .low_included = false}});
};

/// Each client takes part independently with the same probability; a round may be empty.
struct PoissonCohort final : PartBase<CohortPart, PoissonCohort, PoissonCohortSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "poisson";
  static constexpr std::string_view kSummary = "each client takes part independently with the same probability";

  std::vector<ClientId> sample(const CohortQuestion& question) const override {
    std::vector<ClientId> drawn;
    draw_poisson(question.source, {Purpose::cohort, question.round}, cohort_rate, all_clients(question.clients()), drawn,
                 DrawWidth::word);
    return drawn;
  }
  double rate(std::size_t /*clients*/) const override { return cohort_rate; }
  std::size_t least(std::size_t clients) const override { return fewest_drawn(clients, cohort_rate); }
  bool is_independent() const override { return true; }
  Sampling sampling() const override { return Sampling::poisson; }
};

/// The setting shared by cohorts of fixed size.
struct CohortSize {
  int cohort_size = 10;
  static constexpr auto kFields =
      fields(Field{"cohort-size", &CohortSize::cohort_size, "clients in a round", Valid{.low = 1, .high = 1e6}}.often());

  /// Throws Error (usage) if the cohort is larger than the federation.
  std::size_t size_among(std::size_t clients) const;
};

/// The base of cohorts of fixed size.
template <class Self, class Settings = CohortSize>
struct SizedCohort : PartBase<CohortPart, Self, Settings> {
  using PartBase<CohortPart, Self, Settings>::PartBase;
  std::size_t size(std::size_t clients) const { return std::min(clients, static_cast<std::size_t>(this->cohort_size)); }
  double rate(std::size_t clients) const final { return std::min(1.0, this->cohort_size / static_cast<double>(clients)); }
  bool is_independent() const final { return false; }
  std::size_t most(std::size_t clients) const final { return this->size_among(clients); }
  std::size_t least(std::size_t clients) const final { return this->size_among(clients); }
  int* size_setting() final { return &this->cohort_size; }
};

/// A fixed number of clients, drawn uniformly.
struct FixedCohort final : SizedCohort<FixedCohort> {
  using SizedCohort::SizedCohort;
  static constexpr std::string_view kName = "fixed";
  static constexpr std::string_view kSummary = "a fixed number of clients, drawn uniformly";

  std::vector<ClientId> sample(const CohortQuestion& question) const override {
    std::vector<ClientId> drawn;
    draw_without_replacement(question.source, {Purpose::cohort, question.round}, size(question.clients()), question.clients(),
                             drawn);
    return drawn;
  }
};

/// A fixed number of clients, drawn with probability proportional to their number of examples (draw_by_size).
struct SizeCohort final : SizedCohort<SizeCohort> {
  static constexpr std::string_view kName = "by-size";
  static constexpr std::string_view kSummary = "a fixed number of clients, drawn in proportion to their numbers of examples";

  std::vector<ClientId> sample(const CohortQuestion& question) const override {
    return draw_by_size(question, size(question.clients()));
  }
};

/// A fixed number of clients, taken in turn.
struct RoundRobinCohort final : SizedCohort<RoundRobinCohort> {
  static constexpr std::string_view kName = "round-robin";
  static constexpr std::string_view kSummary = "a fixed number of clients, in turn";

  std::vector<ClientId> sample(const CohortQuestion& question) const override;
};

struct PowerOfChoiceSettings : CohortSize {
  int candidates = 20;
  static constexpr auto kFields = fields(
      CohortSize::kFields,
      Field{"candidates", &PowerOfChoiceSettings::candidates,
            "number d of candidates, of which those with the largest losses take part; at least cohort-size", kAtLeastOne});
};

/// Power-of-choice (Cho, Wang & Joshi 2022, Algorithm 1, variant rpow-d): of d candidates drawn by size, those with the largest
/// last reported losses take part. Clients that have not reported a loss yet come first.
struct PowerOfChoiceCohort final : SizedCohort<PowerOfChoiceCohort, PowerOfChoiceSettings> {
  static constexpr std::string_view kName = "power-of-choice";
  static constexpr std::string_view kSummary = "those with the largest losses among candidates drawn by size (Cho et al. 2022)";

  bool asks_for_losses() const override { return true; }
  std::vector<ClientId> sample(const CohortQuestion& question) const override;
};

struct TraceCohortSettings {
  std::string trace;
  int at_most = 0;
  static constexpr auto kFields = fields(
      Field{"trace", &TraceCohortSettings::trace,
            "CSV file with the header client,from,to: a client's number and the first and last rounds in which it is available",
            kFile},
      Field{"at-most", &TraceCohortSettings::at_most,
            "maximum number of clients in a round, drawn from those available; 0: all of them", Valid{.low = 0, .high = 1e6}});
};

/// The clients that a file lists as available in the round; if there are more than at-most, a uniform draw of at-most clients.
struct TraceCohort final : PartBase<CohortPart, TraceCohort, TraceCohortSettings> {
  static constexpr std::string_view kName = "trace";
  static constexpr std::string_view kSummary = "the clients that a file lists as available";

  std::vector<ClientId> sample(const CohortQuestion& question) const override;
  double rate(std::size_t clients) const override {
    return at_most == 0 ? 1 : std::min(1.0, at_most / static_cast<double>(clients));
  }
  bool is_independent() const override { return false; }
  std::size_t most(std::size_t clients) const override { return at_most == 0 ? clients : static_cast<std::size_t>(at_most); }
  std::string file_hash(std::size_t clients) const override;
};

}  // namespace fedstride
