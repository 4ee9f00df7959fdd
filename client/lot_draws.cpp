#include "client/lot_draws.hpp"

#include <algorithm>
#include <tuple>

namespace fedstride {

LotDraws::LotDraws(const PrivatePlan& plan, const RandomSource& source, std::span<const Row> rows, const Place& place,
                   std::span<const std::uint32_t> users)
    : plan_(plan), source_(source), rows_(rows), place_(place), meter_(place.reserved), count_noise_(plan.count_noise()) {
  if (plan_.unit() == LotUnit::some_examples) keep_some(users);
  if (plan_.unit() == LotUnit::users) group_by(users);
  draw_lot_ = draw_of(plan_.sampling())
                  .lots({.source = source_,
                         .round = place_.round,
                         .client = place_.client,
                         .records = plan_.unit() == LotUnit::users           ? std::span<const std::uint32_t>(users_)
                                    : plan_.unit() == LotUnit::some_examples ? std::span<const std::uint32_t>(kept_)
                                                                             : rows_,
                         .rate = plan_.rate(),
                         .lot = plan_.lot(),
                         .first = place_.first_release});
}

// Keeps at most bound() examples per user: those with the smallest draws, which are the same in every round.
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
    if (used <= plan_.bound()) kept_.push_back(std::get<2>(keys[i]));
  }
  std::ranges::sort(kept_);
}

void LotDraws::group_by(std::span<const std::uint32_t> users) {
  kept_.assign(rows_.begin(), rows_.end());
  std::ranges::stable_sort(kept_, {}, [&](Row row) { return users[row]; });
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (i > 0 && users[kept_[i]] == users_.back()) continue;
    users_.push_back(users[kept_[i]]);
    user_ends_.push_back(i);
  }
  user_ends_.push_back(kept_.size());
}

void LotDraws::draw_users(std::vector<Row>& drawn) {
  draw_lot_(epoch_, step(), members_);
  drawn.clear();
  groups_.clear();
  auto at = users_.begin();
  for (const std::uint32_t user : members_) {
    at = std::find(at, users_.end(), user);
    const auto k = static_cast<std::size_t>(at - users_.begin());
    drawn.insert(drawn.end(), kept_.begin() + static_cast<std::ptrdiff_t>(user_ends_[k]),
                 kept_.begin() + static_cast<std::ptrdiff_t>(user_ends_[k + 1]));
    groups_.push_back(user_ends_[k + 1] - user_ends_[k]);
  }
}

void LotDraws::draw(std::vector<Row>& drawn) {
  ++drawn_lots_;
  if (draws_users())
    draw_users(drawn);
  else
    draw_lot_(epoch_, step(), drawn);
  if (drawn.empty()) ++empty_;
}

void add_to_report(const LotReport& lots, std::uint64_t empty, ClientReport& report) {
  report.empty_lots = empty;
  report.nonfinite = lots.nonfinite;
  const auto counted = static_cast<double>(lots.examples - lots.nonfinite);  // if 0, the results are NaN, as intended
  report.gradient_norm = lots.norms / counted;
  report.clipped_share = static_cast<double>(lots.clipped) / counted;
}

}  // namespace fedstride
