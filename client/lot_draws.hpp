#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/private_plan.hpp"
#include "core/random.hpp"
#include "core/task.hpp"
#include "data/dataset.hpp"
#include "dp/noise/clipped_sum.hpp"

namespace fedstride {

/// Writes the counts of a round's lots to a report; `empty` is the number of lots without examples.
void add_to_report(const LotReport& lots, std::uint64_t empty, ClientReport& report);

/// One client's lots in one round: their rows, the noise on their releases, and how many releases the ledger has reserved.
class LotDraws {
 public:
  struct Place {
    std::uint32_t round = 1;
    ClientId client = 0;
    std::uint64_t first_release = 0;  ///< number, in the client's plan, of the round's first release
    std::uint64_t reserved = 0;       ///< releases reserved in the ledger for this round
    double clip = 0;                  ///< the round's clip bound, if it follows counts
  };

  /// Plan, source, rows and users must outlive this object. `users`, needed if the plan draws users or bounds their examples,
  /// maps each row of the data set to its user.
  LotDraws(const PrivatePlan& plan, const RandomSource& source, std::span<const Row> rows, const Place& place,
           std::span<const std::uint32_t> users);
  LotDraws(LotDraws&&) = default;  ///< keeps the addresses of the vectors' elements, to which draw_lot_ refers

  void begin_epoch(int epoch) { epoch_ = epoch; }
  std::size_t steps(int epoch) const { return plan_.steps(epoch); }
  bool has(int lots) const { return meter_.left() >= static_cast<std::uint64_t>(lots); }

  /// Draws the next lot.
  void draw(std::vector<Row>& drawn);
  /// If users are drawn: the number of rows of each user in the last lot, in the order of the rows drawn.
  std::span<const std::size_t> groups() const { return groups_; }
  bool draws_users() const { return plan_.unit() == LotUnit::users; }
  /// The number (from 0), within the round, of the last lot drawn.
  std::uint32_t step() const { return drawn_lots_ - 1; }
  NoiseStep noise() const { return noise_of(step()); }
  /// The standard deviation of the noise in one coordinate of the next lot's mean gradient, which has this many numbers.
  double next_deviation(std::size_t numbers) const { return rules_of(drawn_lots_).grid(numbers).deviation / plan_.denominator(); }
  double denominator() const { return plan_.denominator(); }
  /// Releases the last lot drawn: clips, sums, charges and adds noise (ClippedSum::release). Throws Error (failure) if it was
  /// already released or no reserved release is left.
  template <LotOfExamples Lot>
  double release(Lot& lot, ClippedSum& sum, GradientSink sink, ForEachPiece for_each_piece) {
    return sum.release(lot, rules_of(step()), meter_, sink, for_each_piece, lots_);
  }

  /// Writes the releases to the report.
  void report(ClientReport& report) const {
    report.releases = meter_.runs();
    add_to_report(lots_, empty_, report);
    if (!plan_.counts()) return;
    report.within = lots_.within;
    report.expected = static_cast<double>(place_.reserved - meter_.left()) * plan_.denominator();
  }
  const LotReport& lots() const { return lots_; }
  std::uint64_t empty() const { return empty_; }

 private:
  NoiseStep noise_of(std::uint32_t lot) const {
    NoiseStep noise = plan_.noise().at(place_.first_release + lot);
    if (plan_.counts()) noise.clip = place_.clip;
    return noise;
  }
  ReleaseRules rules_of(std::uint32_t lot) const {
    const NoiseStep noise = noise_of(lot);
    return {.clip = noise.clip,
            .noise_multiplier = noise.noise_multiplier,
            .denominator = plan_.denominator(),
            .most_examples = static_cast<double>(rows_.size() + 1),  // a neighbor may have one more
            .source = source_,
            .address = {Purpose::noise, place_.round, place_.client, lot},
            .count_noise = count_noise_,
            .bound = &*plan_.clip_rule()};
  }
  void keep_some(std::span<const std::uint32_t> users);
  void group_by(std::span<const std::uint32_t> users);
  void draw_users(std::vector<Row>& drawn);

  const PrivatePlan& plan_;
  const RandomSource& source_;
  std::span<const Row> rows_;
  Place place_;
  Meter meter_;
  LotReport lots_;
  double count_noise_ = 0;
  std::uint64_t empty_ = 0;
  std::uint32_t drawn_lots_ = 0;
  int epoch_ = 0;
  std::vector<Row> kept_;               ///< all rows, grouped by user; or the rows that keep_some keeps
  std::vector<std::size_t> user_ends_;  ///< user k has rows user_ends_[k], ..., user_ends_[k + 1] - 1 of kept_
  std::vector<std::uint32_t> users_;    ///< the client's users, ascending
  Lots draw_lot_;                       ///< draws rows or users
  std::vector<std::uint32_t> members_;  ///< users in the last lot
  std::vector<std::size_t> groups_;
};

}  // namespace fedstride
