#pragma once

#include "dp/correlations/correlation.hpp"

namespace fedstride {

/// C is Toeplitz with as many bands as the separation, so a record's columns of C are orthogonal (Choquette-Choo et al. 2023);
/// the coefficients are C's first column c, and round t adds w_t = z_t - sum_{0 < j < b} c_j w_{t-j}. With one band, the noise is
/// independent.
struct BandedNoise final : PartBase<MechanismPart, BandedNoise> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "banded";
  static constexpr std::string_view kSummary = "an optimal banded Toeplitz matrix with as many bands as minimum-separation";

  bool is_independent(std::uint64_t separation) const override { return separation == 1; }
  void plan(Correlation& planned) const override;
  std::string objection(const Correlation& correlation) const override;
  double sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) const override;
  double norm_in_groups(const Correlation& correlation) const override;
  std::size_t kept_vectors(const Correlation& correlation) const override { return correlation.coefficients.size() - 1; }
  void encode(const Correlation& correlation, const NoiseRow& row,
              function_ref<void(std::size_t, std::span<const double>)> put) const override;
  void correlate(const Correlation& correlation, const NoiseRow& row,
                 function_ref<std::span<const double>(std::size_t)> draw) const override;
};

}  // namespace fedstride
