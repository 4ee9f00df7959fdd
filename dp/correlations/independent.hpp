#pragma once

#include <cmath>

#include "dp/correlations/correlation.hpp"

namespace fedstride {

/// Noise drawn independently in every round: C is the identity.
struct IndependentNoise final : PartBase<MechanismPart, IndependentNoise> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "independent";
  static constexpr std::string_view kSummary = "noise drawn independently in every round";

  bool is_independent(std::uint64_t /*separation*/) const override { return true; }
  std::string objection(const Correlation& correlation) const override { return refuse_coefficients(correlation); }
  double sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) const override {
    return std::sqrt(static_cast<double>(participations(correlation, rounds, most))) * kSensitivityRoundedUp;
  }
  double norm_in_groups(const Correlation& /*correlation*/) const override { return 1; }
  std::size_t kept_vectors(const Correlation& /*correlation*/) const override { return 0; }
  void encode(const Correlation& /*correlation*/, const NoiseRow& /*row*/,
              function_ref<void(std::size_t, std::span<const double>)> /*put*/) const override {}
  void correlate(const Correlation& /*correlation*/, const NoiseRow& /*row*/,
                 function_ref<std::span<const double>(std::size_t)> /*draw*/) const override {}
};

}  // namespace fedstride
