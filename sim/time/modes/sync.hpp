#pragma once

#include "sim/time/mode.hpp"
#include "sim/time/timed_run.hpp"

namespace fedstride {

/// Synchronous rounds in virtual time (Bonawitz et al. 2019): a round asks a cohort, drawn from the available clients, for
/// updates, and closes when enough have arrived or at its deadline. Arrivals follow from TimeTerms alone. Clients whose updates
/// do not arrive are not trained, and their states stay unchanged.
class SynchronousRun final : public TimedRun {
 public:
  /// A round with fewer arrivals than the minimum changes nothing. The terms must outlive the run.
  explicit SynchronousRun(const TimeTerms& terms, std::size_t minimum_arrivals = 1)
      : terms_(terms), minimum_arrivals_(minimum_arrivals) {}

  std::vector<ClientReport> advance(std::uint32_t round, const RoundRules& rules, Fleet& fleet, Server& server, Vector& model,
                                    std::span<const std::uint64_t> releases = {},
                                    ForEachPiece for_each_piece = serially) override {
    return run_round(round, rules, arriving(*rules.cohort, rules.question(round, server.losses())), fleet, server, model,
                     releases, for_each_piece);
  }
  std::string save() const override { return ""; }
  void load(const std::string& /*bytes*/, Nanoseconds now) override { last_.end = now; }

  /// Draws a cohort for this question from the clients available after the last round, and returns the clients whose updates
  /// arrive before the round closes. Throws Error (failure) if no client will ever be available.
  std::vector<ClientId> arriving(const CohortPart& cohort, const CohortQuestion& question);

 private:
  std::vector<ClientId> drawn(const CohortPart& cohort, const CohortQuestion& question);

  const TimeTerms& terms_;
  std::size_t minimum_arrivals_;
};

struct SynchronousSettings {
  double over_selection_ = 1;
  int minimum_arrivals_ = 1;
  static constexpr auto kFields =
      fields(Field{"over-selection", &SynchronousSettings::over_selection_,
                   "clients asked per client of cohort-size; a round closes when cohort-size clients have answered",
                   Valid{.low = 1, .high = 1000}},
             Field{"minimum-arrivals", &SynchronousSettings::minimum_arrivals_,
                   "a round in which fewer updates arrive by the deadline changes nothing", Valid{.low = 0, .high = 1e7}});
};
struct Synchronous final : PartBase<ModePart, Synchronous, SynchronousSettings> {
  static constexpr std::string_view kName = "sync";
  static constexpr std::string_view kSummary = "rounds: the server waits for a cohort (Bonawitz et al. 2019)";
  double over_selection() const override { return over_selection_; }
  int minimum_arrivals() const override { return minimum_arrivals_; }
  std::unique_ptr<TimedRun> begin(const TimeTerms& terms) const override {
    return std::make_unique<SynchronousRun>(terms, static_cast<std::size_t>(minimum_arrivals_));
  }
};

}  // namespace fedstride
