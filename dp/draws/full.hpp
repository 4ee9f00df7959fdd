#pragma once

#include "dp/draws/draw.hpp"

namespace fedstride {

/// Takes every record (or every client).
struct FullDraw final : Draw {
  static constexpr std::string_view kName = "full";
  LotSize fitted(LotSize /*wanted*/, std::size_t records, std::uint64_t /*lots_per_step*/) const override { return {1, records}; }
  Lots lots(const LotQuestion& question) const override {
    return [question](int /*epoch*/, std::uint32_t /*step*/, std::vector<std::uint32_t>& drawn) {
      drawn.assign(question.records.begin(), question.records.end());
    };
  }
  std::string wrong_rate(double rate) const override { return rate == 1 ? "" : "it must be 1"; }
  bool draws_rows() const override { return true; }
  std::string text(double /*rate*/) const override { return "everyone in every release"; }
};

}  // namespace fedstride
