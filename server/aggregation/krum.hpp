#pragma once

#include <algorithm>

#include "server/aggregation.hpp"
#include "server/aggregation/krum_scores.hpp"

namespace fedstride {

/// The setting shared by Krum and the rules built on it.
struct Byzantine {
  int byzantine = 1;
  static constexpr std::string_view kHelp =
      "maximum number f of attackers to withstand in a round; Krum needs 2 f + 3 updates, Bulyan 4 f + 3";
  static constexpr auto kFields = fields(Field{"byzantine", &Byzantine::byzantine, kHelp, kNonNegative});

  std::size_t attackers() const { return static_cast<std::size_t>(byzantine); }
};

/// Krum (Blanchard, El Mhamdi, Guerraoui & Stainer 2017, section 4) takes the update with the smallest sum of squared distances
/// to its n - f - 2 nearest neighbors, for n updates and at most f = byzantine attackers; n >= 2 f + 3. Ties go to the smaller
/// client number. Weights are ignored.
struct Krum final : PartBase<ComparingAggregation, Krum, Byzantine> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "krum";
  static constexpr std::string_view kSummary = "the update nearest to its neighbors (Blanchard et al. 2017)";

  std::size_t least_updates() const override { return krum_needs(byzantine); }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    const Changes changes = changes_of(updates);
    return Vector(changes[KrumScores(changes, attackers(), for_each_piece).take_best()]);
  }
};

struct MultiKrumSettings {
  int byzantine = 1;
  int selected = 0;
  static constexpr auto kFields =
      fields(Field{"byzantine", &MultiKrumSettings::byzantine, Byzantine::kHelp, kNonNegative},
             Field{"selected", &MultiKrumSettings::selected,
                   "number of updates to average, at most n - f - 2 in a round with n; 0: n - f - 2", kNonNegative});
};

/// Multi-Krum (Blanchard, El Mhamdi, Guerraoui & Stainer 2017, section 4) averages the m = selected updates with the best Krum
/// scores, computed once; n >= 2 f + 3, and m is limited to n - f - 2. Ties go to the smaller client number. Weights are
/// ignored.
struct MultiKrum final : PartBase<ComparingAggregation, MultiKrum, MultiKrumSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "multi-krum";
  static constexpr std::string_view kSummary = "the mean of the updates nearest to their neighbors (Blanchard et al. 2017)";

  std::size_t least_updates() const override { return krum_needs(byzantine); }
  std::optional<Vector> mean_change(const OpenUpdates& updates, ForEachPiece for_each_piece) const override {
    const Changes changes = changes_of(updates);
    const auto attackers = static_cast<std::size_t>(byzantine);
    const std::size_t most = changes.size() - attackers - 2;
    const std::size_t count = selected == 0 ? most : std::min(most, static_cast<std::size_t>(selected));
    std::vector<std::size_t> best = KrumScores(changes, attackers, for_each_piece).ranking();
    best.resize(count);
    std::vector<double> factors(changes.size());
    for (const std::size_t place : best) factors[place] = 1 / static_cast<double>(count);
    return linear_combination(changes, factors, for_each_piece);
  }
};

}  // namespace fedstride
