#include "server/aggregation/krum_scores.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace fedstride {

KrumScores::KrumScores(const Changes& changes, std::size_t attackers, ForEachPiece for_each_piece)
    : attackers_(attackers), distances_(changes, for_each_piece), left_(changes.size()), to_left_(changes.size()) {
  std::iota(left_.begin(), left_.end(), std::size_t{0});
  in_pieces(changes.size(), for_each_piece, [&](std::size_t i) {
    for (const std::size_t j : left_)
      if (j != i) to_left_[i].push_back(distances_(i, j));
    std::ranges::sort(to_left_[i]);
  });
}

std::vector<double> KrumScores::scores() const {
  const std::size_t wanted = left_.size() > attackers_ + 2 ? left_.size() - attackers_ - 2 : 1;
  const std::size_t count = std::min(wanted, left_.size() - 1);
  std::vector<double> scores;
  for (const std::size_t place : left_) {
    std::array<double, 8> sums{};  // several, so that additions need not wait for each other
    for (std::size_t i = 0; i < count; ++i) sums[i % sums.size()] += to_left_[place][i];
    scores.push_back(std::accumulate(sums.begin(), sums.end(), 0.0));
  }
  return scores;
}

std::vector<std::size_t> KrumScores::ranking() const {
  const std::vector<double> all = scores();
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return all[i]; });
  for (std::size_t& i : order) i = left_[i];
  return order;
}

std::size_t KrumScores::take_best() {
  const std::vector<double> all = scores();
  const auto found = left_.begin() + (std::ranges::min_element(all) - all.begin());
  const std::size_t best = *found;
  left_.erase(found);
  for (const std::size_t i : left_) to_left_[i].erase(std::ranges::lower_bound(to_left_[i], distances_(i, best)));
  return best;
}

}  // namespace fedstride
