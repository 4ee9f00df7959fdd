#pragma once

#include "server/cohorts.hpp"

namespace fedstride {

struct BinsCohortSettings {
  int cohort_bins = 10;
  static constexpr auto kFields =
      fields(Field{"cohort-bins", &BinsCohortSettings::cohort_bins, "rounds in a cycle; each client takes part in one of them",
                   Valid{.low = 1, .high = 1e6}});
};

/// Each client takes part in one round of every cycle of `cohort-bins` rounds, drawn independently of other clients and the
/// same in all cycles; a round may be empty.
struct BinsCohort final : PartBase<CohortPart, BinsCohort, BinsCohortSettings> {
  static constexpr std::string_view kName = BallsInBins::kName;
  static constexpr std::string_view kSummary =
      "each client takes part in one round of a cycle, drawn once and the same in every cycle";

  std::vector<ClientId> sample(const CohortQuestion& question) const override {
    const auto bins = static_cast<std::uint64_t>(cohort_bins);  // drawn at round 0, which is not a training round
    std::vector<ClientId> drawn;
    for (ClientId client = 0; client < question.clients(); ++client)
      if (question.source.at({.purpose = Purpose::cohort, .client = client}).below(bins) == (question.round - 1) % bins)
        drawn.push_back(client);
    return drawn;
  }
  double rate(std::size_t /*clients*/) const override { return 1.0 / cohort_bins; }
  std::size_t least(std::size_t clients) const override { return fewest_drawn(clients, 1.0 / cohort_bins); }
  bool is_independent() const override { return true; }
  Sampling sampling() const override { return kSampling<BallsInBins>; }
};

}  // namespace fedstride
