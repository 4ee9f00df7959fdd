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

/// Writes the counts of a round's lots, `empty` of which had no examples, to a report.
void add_to_report(const LotReport& lots, std::uint64_t empty, ClientReport& report);

/// One client's lots in one round: their rows, the noise of their releases, and how many releases the ledger has reserved.
class LotDraws {
 public:
  struct Place {
    std::uint32_t round = 1;
    ClientId client = 0;
    std::uint64_t first_release = 0;  ///< number of the round's first release in the client's plan
    std::uint64_t reserved = 0;       ///< releases reserved in the ledger for this round
  };

  /// Plan, source and rows must outlive this object.
  LotDraws(const PrivatePlan& plan, const RandomSource& source, std::span<const Row> rows, const Place& place);

  void begin_epoch(int epoch);
  std::size_t steps(int epoch) const { return plan_.steps(epoch); }
  bool has(int lots) const { return meter_.left() >= static_cast<std::uint64_t>(lots); }

  /// Draws the next lot.
  void draw(std::vector<Row>& drawn);
  /// The number of the last lot drawn in this round, from 0.
  std::uint32_t step() const { return drawn_lots_ - 1; }
  NoiseStep noise() const { return plan_.noise().at(place_.first_release + step()); }
  double denominator() const { return plan_.denominator(); }
  /// Releases that lot: clips, sums, charges and adds noise (ClippedSum::release). Throws Error (failure) if already released.
  template <LotOfExamples Lot>
  double release(Lot& lot, ClippedSum& sum, GradientSink sink, ForEachPiece for_each_piece) {
    const NoiseStep noise = this->noise();
    return sum.release(lot,
                       {.clip = noise.clip,
                        .noise_multiplier = noise.noise_multiplier,
                        .denominator = plan_.denominator(),
                        .source = source_,
                        .address = {Purpose::noise, place_.round, place_.client, step()}},
                       meter_, sink, for_each_piece, lots_);
  }

  /// Adds the releases to the report.
  void report(ClientReport& report) const {
    report.releases = meter_.runs();
    add_to_report(lots_, empty_, report);
  }
  const LotReport& lots() const { return lots_; }
  std::uint64_t empty() const { return empty_; }

 private:
  const PrivatePlan& plan_;
  const RandomSource& source_;
  std::span<const Row> rows_;
  Place place_;
  Meter meter_;
  LotReport lots_;
  std::uint64_t empty_ = 0;
  std::uint32_t drawn_lots_ = 0;
  std::vector<Row> order_;  ///< for shuffled lots: the epoch's order
  std::size_t ahead_ = 0;   ///< rows of order_ already used
};

}  // namespace fedstride
