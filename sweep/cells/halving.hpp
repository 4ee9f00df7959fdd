#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fedstride {

/// One step of successive halving: this many configurations train up to this round, and the best continue in the next step.
struct Rung {
  std::size_t configurations = 0;
  std::uint32_t rounds = 0;
  bool operator==(const Rung&) const = default;
};
using Bracket = std::vector<Rung>;

/// Returns the bracket of successive halving (Jamieson & Talwalkar 2016) of n configurations: rung i of s + 1 trains floor(n /
/// eta^i) configurations up to round floor(rounds / eta^(s - i)). s is as large as possible with at least `least` rounds in the
/// first rung and at least one configuration in the last. Requires n, least > 0, least <= rounds, eta > 1.
Bracket halving_bracket(std::size_t n, std::uint32_t least, std::uint32_t rounds, unsigned eta);

/// Returns the brackets of Hyperband (Li et al. 2018, algorithm 1) over at most n configurations: bracket s, from the largest
/// down to 0, begins with ceil((largest + 1) eta^s / (s + 1)) configurations. (The paper's table 1 has floor((largest + 1) / (s +
/// 1)) eta^s, which leaves up to a fifth of the budget unused.)
std::vector<Bracket> hyperband_brackets(std::size_t n, std::uint32_t least, std::uint32_t rounds, unsigned eta);

/// A score with its 95 % interval; unknown values are NaN.
struct Score {
  double value = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

/// Returns a share measured on this many independent rows as a score with Wilson's interval, which is NaN without rows.
Score score_of_share(double share, double rows);
/// Returns the mean over seeds as a score with Student's interval; a single seed has no interval.
Score score_of_seeds(const std::vector<double>& values);

/// A configuration's place in a rung.
struct RungPlace {
  std::size_t configuration = 0;  ///< in the caller's numbering
  Score score = {};
  bool goes_on = false;
  bool is_near_cut = false;  ///< the cut is within the score's interval
};

struct RungOrder {
  std::vector<RungPlace> places = {};                     ///< best first; ties go to the lower configuration number
  double cut = std::numeric_limits<double>::quiet_NaN();  ///< score halfway between the last promoted and the next
  /// True if the cut is within the score intervals of configurations on both sides.
  bool is_toss_up() const;
};

/// Orders the places of a rung and promotes the first `keep`; unknown scores come last.
RungOrder order_rung(std::vector<RungPlace> places, std::size_t keep, bool highest_is_best);

}  // namespace fedstride
