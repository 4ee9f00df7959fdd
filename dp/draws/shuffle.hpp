#pragma once

#include "dp/draws/draw.hpp"

namespace fedstride {

/// Cuts lots from a shuffled order; every record is in at most one lot per epoch. No amplification is claimed.
struct ShuffleDraw final : Draw {
  static constexpr std::string_view kName = "shuffle";
  /// All lots of a step are disjoint parts of the same order.
  LotSize fitted(LotSize wanted, std::size_t records, std::uint64_t lots_per_step) const override {
    return Draw::fitted({wanted.rate, std::clamp<std::size_t>(records / lots_per_step, 1, wanted.lot)}, records, lots_per_step);
  }
  Lots lots(const LotQuestion& question) const override {
    return [question, order = std::vector<std::uint32_t>(), shuffled = -1, next = std::size_t{0}](
               int epoch, std::uint32_t /*step*/, std::vector<std::uint32_t>& drawn) mutable {
      if (std::exchange(shuffled, epoch) != epoch) {
        order.assign(question.records.begin(), question.records.end());
        RandomStream random = question.source.at(question.address(static_cast<std::uint32_t>(epoch)));
        shuffle(std::span(order), random);
        next = 0;
      }
      const auto lot = std::span(order).subspan(next, question.lot);
      drawn.assign(lot.begin(), lot.end());
      next += question.lot;
    };
  }
  bool is_independent() const override { return false; }
  std::uint64_t passes(std::uint64_t /*count*/, int epochs, double /*rate*/) const override {
    return static_cast<std::uint64_t>(epochs);
  }
  std::string text(double /*rate*/) const override { return "shuffled lots, no amplification claimed"; }
  std::string assumption(std::string_view /*record*/, std::uint64_t /*passes*/) const override {
    return "lots were shuffled: no amplification by sampling is claimed, and a record counts in full in one lot of each pass";
  }
};

}  // namespace fedstride
