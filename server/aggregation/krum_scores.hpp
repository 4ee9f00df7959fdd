#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/gradient.hpp"
#include "server/aggregation/distances.hpp"

namespace fedstride {

/// Krum's scores (Blanchard, El Mhamdi, Guerraoui & Stainer 2017, section 4): of r changes with f attackers among them, each
/// one's sum of squared distances to the r - f - 2 others nearest to it (to one at least, if there is one), the nearest first.
/// Changes are known by their places in order of clients; at equal scores the smaller place is the better.
class KrumScores {
 public:
  KrumScores(const Changes& changes, std::size_t attackers, ForEachPiece for_each_piece);

  /// The places of all changes, the best first. Before the first take_best().
  std::vector<std::size_t> ranking() const;
  /// Takes the best change out and returns its place; the scores are then those among the others.
  std::size_t take_best();

 private:
  /// Taking a change out takes a term out of every score. It is subtracted; `error` bounds the distance of the difference from
  /// the sum added up anew, which is only done where the bound leaves open which change is the best. So scores are never those
  /// of differences, which a huge term would spoil, and n changes are taken out in O(n^2) as a rule.
  struct Candidate {
    std::vector<std::uint32_t> others;  ///< places, the nearest first
    std::size_t farthest = 0;           ///< the last of them that counts
    double score = 0;
    double error = 0;
    bool is_left = true;
  };
  std::size_t neighbours() const;
  void add_up(std::size_t place);
  void take_term_out(std::size_t place, std::size_t taken);

  std::size_t attackers_;
  SquaredDistances distances_;
  std::vector<Candidate> candidates_;  ///< by place
  std::size_t left_;
};

/// The fewest changes that Krum can tell f attackers from: 2 f + 3.
constexpr std::size_t krum_needs(int attackers) { return 2 * static_cast<std::size_t>(attackers) + 3; }

/// The help of the setting f of all rules that are built on Krum, which are one flag.
inline constexpr std::string_view kByzantineHelp = "most attackers f in a round; Krum needs 2 f + 3 updates, Bulyan 4 f + 3";

}  // namespace fedstride
