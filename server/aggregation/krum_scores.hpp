#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/gradient.hpp"
#include "server/aggregation/distances.hpp"

namespace fedstride {

/// Krum's scores (Blanchard, El Mhamdi, Guerraoui & Stainer 2017, section 4): for r changes, f of them from attackers, the score
/// of a change is the sum of squared distances to its r - f - 2 nearest neighbors (at least one if r > 1), added nearest first.
/// Changes are identified by their positions in order of clients; ties go to the smaller position.
class KrumScores {
 public:
  KrumScores(const Changes& changes, std::size_t attackers, ForEachPiece for_each_piece);

  /// The positions of all changes, best first. Call before the first take_best().
  std::vector<std::size_t> ranking() const;
  /// Removes the best change and returns its position; the rest are then scored among themselves.
  std::size_t take_best();

 private:
  /// Removing a change removes a term from every score. The term is subtracted, and `error` bounds the difference from a fresh
  /// sum, which is computed only if the bound leaves open which change is best. So rounding after subtracting a huge term
  /// never decides a comparison, and removing n changes usually takes O(n^2) time.
  struct Candidate {
    std::vector<std::uint32_t> others;  ///< positions, nearest first
    std::size_t farthest = 0;           ///< index of the last neighbor in the score
    double score = 0;
    double error = 0;
    bool is_left = true;
  };
  std::size_t neighbors() const;
  void add_up(std::size_t place);
  void take_term_out(std::size_t place, std::size_t taken);

  std::size_t attackers_;
  SquaredDistances distances_;
  std::vector<Candidate> candidates_;  ///< by position
  std::size_t left_;
};

/// The fewest changes among which Krum withstands f attackers: 2 f + 3.
constexpr std::size_t krum_needs(int attackers) { return 2 * static_cast<std::size_t>(attackers) + 3; }

}  // namespace fedstride
