#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/choice.hpp"
#include "core/random.hpp"
#include "core/task.hpp"
#include "sim/time/mode.hpp"

namespace fedstride {

/// Draws the tier of each round of tifl (Chai et al. 2020, Section 4.4, Algorithm 2). Every I rounds, if the loss of the last
/// round's tier is no lower than I rounds ago, tiers are weighted by the rank of their losses: of n tiers, the tier with the
/// highest loss has weight n, the tier with the lowest 1. A tier's loss is the mean of its clients' last reports; a tier without
/// reports ranks first. (The paper ranks accuracies on test rows, which the coordinator does not have.) A tier is drawn at most
/// as often as it has credits, until all tiers have used theirs.
class TierDraw {
 public:
  /// `tier_of` is indexed by client. If `every` is 0, the draws are uniform; if `credits` is 0, a tier may have any number of
  /// rounds.
  TierDraw(std::vector<std::uint16_t> tier_of, std::uint32_t every, std::uint32_t credits);

  std::uint16_t tier_of(ClientId client) const { return tier_of_[client]; }
  /// Draws the tier of a round.
  std::uint16_t draw(std::uint32_t round, std::span<const double> losses, RandomStream& random);

  /// Convert the state to bytes and back; uniform draws have none. load throws Error (failure) if the bytes are not such a state.
  std::string save() const;
  void load(const std::string& bytes);

 private:
  std::vector<std::uint16_t> tier_of_;
  std::size_t tiers_;
  std::uint32_t every_;
  std::uint32_t credits_;
  std::vector<std::uint32_t> rounds_ = {};  // by tier; empty before the first round
  std::vector<double> weights_ = {};
  std::vector<double> before_ = {};  // losses at the last check; empty before the first
  std::uint16_t last_ = 0;
};

/// The mean of the known losses of each tier's clients; NaN for a tier without known losses.
std::vector<double> tier_losses(std::size_t tiers, std::span<const std::uint16_t> tier_of, std::span<const double> losses);

/// How a round of tifl draws its tier.
enum class TierPolicy : std::uint8_t {
  uniform,  ///< every tier with the same probability
  losses    ///< tiers with higher losses more often: TiFL's adaptive policy
};
constexpr auto choice_names(TierPolicy) { return names("uniform", "losses"); }

struct TiflSettings : TieredSettings {
  TierPolicy policy = TierPolicy::uniform;
  int interval = 10;
  int credits = 0;
  bool adapts() const { return policy == TierPolicy::losses; }
  static constexpr auto kFields = std::tuple_cat(
      TieredSettings::kFields,
      std::tuple{Field{"tier-policy", &TiflSettings::policy, "how a round's tier is drawn: uniformly or by losses"},
                 Field{"tier-interval", &TiflSettings::interval, "rounds between checks of the tiers' losses",
                       Valid{.low = 1, .high = 1e6}, Shapes::model, &TiflSettings::adapts},
                 Field{"tier-credits", &TiflSettings::credits,
                       "rounds that a tier may have until every tier has had as many; 0: no limit", Valid{.low = 0, .high = 1e6},
                       Shapes::model, &TiflSettings::adapts}});
};
/// Rounds whose cohort is drawn from one tier of clients of similar speed: uniformly, or by the tiers' losses.
struct Tiered final : PartBase<ModePart, Tiered, TiflSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "tifl";
  static constexpr std::string_view kSummary = "rounds of clients of similar speed (Chai et al. 2020)";
  int tiers() const override { return tiers_; }
  bool asks_for_losses() const override { return adapts(); }
  std::unique_ptr<TimedRun> begin(const TimeTerms& terms) const override;
};

}  // namespace fedstride
