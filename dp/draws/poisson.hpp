#pragma once

#include "dp/draws/draw.hpp"
#include "dp/noise/sampling.hpp"

namespace fedstride {

/// Draws each record independently with probability `rate`.
struct PoissonDraw final : Draw {
  static constexpr std::string_view kName = "poisson";
  LotSize fitted(LotSize wanted, std::size_t /*records*/, std::uint64_t /*lots_per_step*/) const override { return wanted; }
  Lots lots(const LotQuestion& question) const override {
    return [question](int /*epoch*/, std::uint32_t step, std::vector<std::uint32_t>& drawn) {
      draw_poisson(question.source, question.address(step), question.rate, question.records, drawn, DrawWidth::byte);
    };
  }
  bool draws_rows() const override { return true; }
  std::string text(double rate) const override { return "Poisson sampling at rate " + number_text(rate); }
  std::string assumption(std::string_view record, std::uint64_t /*passes*/) const override {
    return std::string(record) +
           " entered each lot independently, with the same probability, and the draws are secret (Poisson sampling)";
  }
  std::string cohort_assumption(std::uint64_t /*passes*/) const override {
    return "amplification by Poisson cohorts holds only if nobody sees who is in a cohort";
  }
};

}  // namespace fedstride
