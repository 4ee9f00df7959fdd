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

/// How a round of tifl draws its tier (Chai et al. 2020, Section 4.4, Algorithm 2). Every I rounds, if the loss of the tier of
/// the last round is no lower than I rounds ago, the tiers' weights follow the rank of their losses: of n, the highest has n,
/// the lowest 1. A tier's loss is the mean of its clients' last reports; a tier without reports ranks first. (The paper ranks
/// accuracies on test rows, which the coordinator does not have.) A tier is drawn at most as often as it has credits, until all
/// tiers have used theirs.
class TierDraw {
 public:
  /// `tier_of` is indexed by client; with `every` 0 the draws are uniform, with `credits` 0 a tier may have any number of
  /// rounds.
  TierDraw(std::vector<std::uint16_t> tier_of, std::uint32_t every, std::uint32_t credits);

  std::uint16_t tier_of(ClientId client) const { return tier_of_[client]; }
  /// The tier of a round.
  std::uint16_t draw(std::uint32_t round, std::span<const double> losses, RandomStream& random);

  /// Converts the state to bytes and back: none if draws are uniform. load throws Error (failure) if they are not such a state.
  std::string save() const;
  void load(const std::string& bytes);

 private:
  std::vector<std::uint16_t> tier_of_;
  std::size_t tiers_;
  std::uint32_t every_;
  std::uint32_t credits_;
  std::vector<std::uint32_t> rounds_ = {};  // of each tier; empty before the first
  std::vector<double> weights_ = {};
  std::vector<double> before_ = {};  // losses at the last check; empty before it
  std::uint16_t last_ = 0;
};

/// The mean of the known losses of each tier's clients; NaN for a tier without any.
std::vector<double> tier_losses(std::size_t tiers, std::span<const std::uint16_t> tier_of, std::span<const double> losses);

/// How a round of tifl draws its tier.
enum class TierPolicy : std::uint8_t {
  uniform,  ///< each with the same probability
  losses    ///< those with higher losses more often: TiFL's adaptive policy
};
constexpr auto choice_names(TierPolicy) { return names("uniform", "losses"); }

struct TiflSettings : TieredSettings {
  TierPolicy policy = TierPolicy::uniform;
  int interval = 10;
  int credits = 0;
  bool adapts() const { return policy == TierPolicy::losses; }
  static constexpr auto kFields = std::tuple_cat(
      TieredSettings::kFields,
      std::tuple{
          Field{"tier-policy", &TiflSettings::policy, "how a round's tier is drawn: uniformly, or by losses"},
          Field{"tier-interval", &TiflSettings::interval, "rounds between two looks at the tiers' losses",
                Valid{.low = 1, .high = 1e6}, Shapes::model, &TiflSettings::adapts},
          Field{"tier-credits", &TiflSettings::credits, "rounds that a tier may have while others still may; 0: any number",
                Valid{.low = 0, .high = 1e6}, Shapes::model, &TiflSettings::adapts}});
};
/// Rounds whose cohort is drawn from one tier of clients of similar speed: uniformly, or by the tiers' losses.
struct Tiered final : PartBase<ModePart, Tiered, TiflSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "tifl";
  static constexpr std::string_view kSummary = "rounds of clients of like speed (Chai et al. 2020)";
  int tiers() const override { return tiers_; }
  bool asks_for_losses() const override { return adapts(); }
  std::unique_ptr<TimedRun> begin(const TimeTerms& terms) const override;
};

}  // namespace fedstride
