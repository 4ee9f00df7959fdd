#pragma once

#include "dp/draws/draw.hpp"
#include "dp/noise/sampling.hpp"

namespace fedstride {

/// Draws a fixed number of records uniformly: a share `rate` of all.
struct WithoutReplacementDraw final : Draw {
  static constexpr std::string_view kName = "without-replacement";
  Lots lots(const LotQuestion& question) const override {
    return [question](int /*epoch*/, std::uint32_t step, std::vector<std::uint32_t>& drawn) {
      draw_without_replacement(question.source, question.address(step), question.lot, question.records, drawn);
    };
  }
  bool is_independent() const override { return false; }
  bool has_bound(Neighbours neighbours) const override { return neighbours == Neighbours::replace_one; }
  std::string text(double rate) const override { return "sampling without replacement at rate " + number_text(rate); }
  std::string assumption(std::string_view /*record*/, std::uint64_t /*passes*/) const override {
    return "lots of a fixed size were drawn uniformly, and which examples they hold is secret";
  }
};

}  // namespace fedstride
