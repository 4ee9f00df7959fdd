#include "client/lot_draws.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "dp/noise/sampling.hpp"

namespace fedstride {

LotDraws::LotDraws(const PrivatePlan& plan, const RandomSource& source, std::span<const Row> rows, const Place& place,
                   std::span<const std::uint32_t> users)
    : plan_(plan), source_(source), rows_(rows), place_(place), meter_(place.reserved), count_noise_(plan.count_noise()) {
  if (plan_.sampling() == Sampling::balls_in_bins) fill_bins();
  if (plan_.unit() == LotUnit::some_examples) keep_some(users);
  if (plan_.unit() == LotUnit::users) group_by(users);
}

// The examples of each user with the smallest draws, which are the same in every round.
void LotDraws::keep_some(std::span<const std::uint32_t> users) {
  using Key = std::tuple<std::uint32_t, std::uint64_t, Row>;
  std::vector<Key> keys;
  for (const Row row : rows_)
    keys.emplace_back(users[row],
                      source_.at({.purpose = Purpose::private_sampling, .client = place_.client, .row = row}).bits64(), row);
  std::ranges::sort(keys);
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    used = i > 0 && std::get<0>(keys[i]) == std::get<0>(keys[i - 1]) ? used + 1 : 1;
    if (used <= plan_.bound()) order_.push_back(std::get<2>(keys[i]));
  }
  std::ranges::sort(order_);
}

void LotDraws::group_by(std::span<const std::uint32_t> users) {
  order_.assign(rows_.begin(), rows_.end());
  std::ranges::stable_sort(order_, {}, [&](Row row) { return users[row]; });
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (i > 0 && users[order_[i]] == users_.back()) continue;
    users_.push_back(users[order_[i]]);
    bin_ends_.push_back(i);
  }
  bin_ends_.push_back(order_.size());
}

void LotDraws::draw_users(const Address& address, std::vector<Row>& drawn) {
  draw_poisson(source_, address, plan_.rate(), users_, members_);
  groups_.clear();
  auto at = users_.begin();
  for (const std::uint32_t user : members_) {
    at = std::find(at, users_.end(), user);
    const auto k = static_cast<std::size_t>(at - users_.begin());
    drawn.insert(drawn.end(), order_.begin() + static_cast<std::ptrdiff_t>(bin_ends_[k]),
                 order_.begin() + static_cast<std::ptrdiff_t>(bin_ends_[k + 1]));
    groups_.push_back(bin_ends_[k + 1] - bin_ends_[k]);
  }
}

// Rows by bin. The bin of a row is a draw of its own, so that one more row moves no other, and at round 0, which is no round of
// training, so that it is the same in all.
void LotDraws::fill_bins() {
  const std::uint64_t bins = plan_.bins();
  std::vector<std::uint32_t> bin_of;
  bin_ends_.assign(bins + 1, 0);
  for (const Row row : rows_) {
    bin_of.push_back(static_cast<std::uint32_t>(
        source_.at({.purpose = Purpose::private_sampling, .client = place_.client, .row = static_cast<std::uint32_t>(row)})
            .below(bins)));
    ++bin_ends_[bin_of.back() + 1];
  }
  std::partial_sum(bin_ends_.begin(), bin_ends_.end(), bin_ends_.begin());
  order_.resize(rows_.size());
  std::vector<std::size_t> next(bin_ends_.begin(), bin_ends_.end() - 1);
  for (std::size_t i = 0; i < rows_.size(); ++i) order_[next[bin_of[i]]++] = rows_[i];
}

void LotDraws::begin_epoch(int epoch) {
  if (plan_.sampling() != Sampling::shuffle) return;
  order_.assign(rows_.begin(), rows_.end());
  RandomStream random = source_.at({Purpose::private_sampling, place_.round, place_.client, static_cast<std::uint32_t>(epoch)});
  shuffle(std::span(order_), random);
  ahead_ = 0;
}

void LotDraws::draw(std::vector<Row>& drawn) {
  ++drawn_lots_;
  drawn.clear();
  const Address address{Purpose::private_sampling, place_.round, place_.client, step()};
  if (draws_users()) {
    draw_users(address, drawn);
    if (drawn.empty()) ++empty_;
    return;
  }
  switch (plan_.sampling()) {
    case Sampling::full:
      drawn.assign(rows().begin(), rows().end());
      break;
    case Sampling::poisson:
      draw_poisson(source_, address, plan_.rate(), rows(), drawn);
      break;
    case Sampling::without_replacement:
      draw_without_replacement(source_, address, plan_.lot(), rows_, drawn);
      break;
    case Sampling::shuffle:
      drawn.assign(order_.begin() + static_cast<std::ptrdiff_t>(ahead_),
                   order_.begin() + static_cast<std::ptrdiff_t>(ahead_ + plan_.lot()));
      ahead_ += plan_.lot();
      break;
    case Sampling::balls_in_bins: {
      const std::uint64_t bin = (place_.first_release + step()) % plan_.bins();
      drawn.assign(order_.begin() + static_cast<std::ptrdiff_t>(bin_ends_[bin]),
                   order_.begin() + static_cast<std::ptrdiff_t>(bin_ends_[bin + 1]));
      break;
    }
  }
  if (drawn.empty()) ++empty_;
}

void add_to_report(const LotReport& lots, std::uint64_t empty, ClientReport& report) {
  report.empty_lots = empty;
  report.nonfinite = lots.nonfinite;
  const auto counted = static_cast<double>(lots.examples - lots.nonfinite);  // if 0, the results are NaN as intended
  report.gradient_norm = lots.norms / counted;
  report.clipped_share = static_cast<double>(lots.clipped) / counted;
}

}  // namespace fedstride
