#include "server/aggregation/krum_scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace fedstride {

KrumScores::KrumScores(const Changes& changes, std::size_t attackers, ForEachPiece for_each_piece)
    : attackers_(attackers), distances_(changes, for_each_piece), candidates_(changes.size()), left_(changes.size()) {
  in_pieces(changes.size(), for_each_piece, [&](std::size_t place) {
    std::vector<std::uint32_t>& others = candidates_[place].others;
    for (std::uint32_t other = 0; other < changes.size(); ++other)
      if (other != place) others.push_back(other);
    std::ranges::sort(others, {}, [&](std::uint32_t other) { return std::pair(distances_(place, other), other); });
    add_up(place);
  });
}

std::size_t KrumScores::neighbors() const {
  const std::size_t wanted = left_ > attackers_ + 2 ? left_ - attackers_ - 2 : 1;
  return std::min(wanted, left_ - 1);
}

void KrumScores::add_up(std::size_t place) {
  Candidate& candidate = candidates_[place];
  candidate.score = candidate.error = 0;
  std::size_t missing = neighbors();
  for (std::size_t i = 0; missing > 0; ++i) {
    const std::uint32_t other = candidate.others[i];
    if (!candidates_[other].is_left) continue;
    candidate.score += distances_(place, other);
    candidate.farthest = i;
    --missing;
  }
}

void KrumScores::take_term_out(std::size_t place, std::size_t taken) {
  Candidate& candidate = candidates_[place];
  const std::size_t farthest = candidate.others[candidate.farthest];
  const auto rank = [&](std::size_t other) { return std::pair(distances_(place, other), other); };
  const bool is_inside = rank(taken) < rank(farthest);
  // Bounds the rounding errors of summing all terms, before and after the subtraction.
  candidate.error += (std::abs(candidate.score) + candidate.error) * static_cast<double>(candidates_.size()) * 2 *
                     std::numeric_limits<double>::epsilon();
  candidate.score -= distances_(place, is_inside ? taken : farthest);
  if (is_inside) return;
  do --candidate.farthest;
  while (!candidates_[candidate.others[candidate.farthest]].is_left);
}

std::vector<std::size_t> KrumScores::ranking() const {
  std::vector<std::size_t> places(candidates_.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, [&](std::size_t place) { return candidates_[place].score; });
  return places;
}

std::size_t KrumScores::take_best() {
  double bound = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates_)
    if (candidate.is_left) bound = std::min(bound, candidate.score + candidate.error);
  std::size_t best = candidates_.size();
  for (std::size_t place = 0; place < candidates_.size(); ++place) {
    const Candidate& candidate = candidates_[place];
    if (!candidate.is_left || candidate.score - candidate.error > bound) continue;
    if (candidate.error > 0) add_up(place);
    if (best == candidates_.size() || candidate.score < candidates_[best].score) best = place;
  }

  const std::size_t before = neighbors();
  candidates_[best].is_left = false;
  --left_;
  const bool is_one_fewer = left_ > 0 && neighbors() + 1 == before && neighbors() > 0;
  for (std::size_t place = 0; place < candidates_.size() && left_ > 0; ++place) {
    if (!candidates_[place].is_left) continue;
    if (is_one_fewer)
      take_term_out(place, best);
    else
      add_up(place);
  }
  return best;
}

}  // namespace fedstride
