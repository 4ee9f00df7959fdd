#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "core/task.hpp"
#include "sim/time/mode.hpp"

namespace fedstride {

/// How a round of tifl draws its tier (Chai et al. 2020, Section 4.4, Algorithm 2). Every I rounds, if the loss of the tier of the last
/// round is no lower than I rounds ago, the tiers' weights follow the rank of their losses: of n, the highest has n, the lowest 1. A
/// tier's loss is the mean of its clients' last reports; one without any ranks first. (The paper ranks accuracies on test rows, which the
/// coordinator does not have.) A tier has at most its credits in rounds, until all have used theirs.
class TierDraw {
 public:
  /// The tier of the question's round; `tier_of` is by client.
  std::uint16_t draw(const ModePart& mode, std::uint32_t round, std::span<const std::uint16_t> tier_of,
                     std::span<const double> losses, RandomStream& random);

  template <class Archive>
  void serialize(Archive& archive) {
    archive(rounds_, weights_, before_, last_);
  }
  /// True if it can be the state of a run with so many tiers.
  bool fits(std::size_t tiers) const;

 private:
  std::vector<std::uint32_t> rounds_ = {};  // that each tier had; empty before the first
  std::vector<double> weights_ = {};
  std::vector<double> before_ = {};  // losses at the last look; empty before it
  std::uint16_t last_ = 0;
};

/// The mean of the losses that are known of each tier's clients; NaN for one without any.
std::vector<double> tier_losses(std::size_t tiers, std::span<const std::uint16_t> tier_of, std::span<const double> losses);

}  // namespace fedstride
