#pragma once

#include <cstddef>
#include <vector>

#include "core/gradient.hpp"
#include "server/aggregation/distances.hpp"

namespace fedstride {

/// Krum's scores (Blanchard, El Mhamdi, Guerraoui & Stainer 2017, section 4): of r changes with f attackers among them, each
/// one's sum of squared distances to the r - f - 2 others nearest to it. Changes are known by their places in order of clients.
class KrumScores {
 public:
  KrumScores(const Changes& changes, std::size_t attackers, ForEachPiece for_each_piece);

  /// The scores of the places that are left, in order of places. At least one neighbour counts, as long as there is one.
  std::vector<double> scores() const;
  /// The places that are left, by score; equal scores by client.
  std::vector<std::size_t> ranking() const;
  /// Takes the best change out and returns its place; the scores are then those among the others.
  std::size_t take_best();

 private:
  std::size_t attackers_;
  SquaredDistances distances_;
  std::vector<std::size_t> left_;             ///< places, rising
  std::vector<std::vector<double>> to_left_;  ///< by place, the distances to the others that are left, rising
};

/// The fewest changes that Krum can tell f attackers from: 2 f + 3.
constexpr std::size_t krum_needs(int attackers) { return 2 * static_cast<std::size_t>(attackers) + 3; }

}  // namespace fedstride
