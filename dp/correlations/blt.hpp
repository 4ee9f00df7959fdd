#pragma once

#include "dp/correlations/buffered_toeplitz.hpp"
#include "dp/correlations/correlation.hpp"

namespace fedstride {

struct BufferedNoiseSettings {
  int buffers = 4;
  static constexpr auto kFields = fields(Field{"noise-buffers", &BufferedNoiseSettings::buffers,
                                               "number of model-sized vectors that are kept", Valid{.low = 1, .high = 10}});
};

/// C is a buffered linear Toeplitz matrix (Dvijotham et al. 2024). The coefficients are the scales s_i, then the decays d_i;
/// round t adds w_t = z_t - sum_i s_i m_i, then sets m_i <- d_i m_i + w_t.
struct BufferedNoise final : PartBase<MechanismPart, BufferedNoise, BufferedNoiseSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "blt";
  static constexpr std::string_view kSummary = "an optimal buffered Toeplitz matrix (Dvijotham et al.)";

  void plan(Correlation& planned) const override;
  std::string objection(const Correlation& correlation) const override;
  std::vector<std::pair<std::string_view, std::uint64_t>> stated(const Correlation& correlation) const override;
  double sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) const override;
  std::size_t kept_vectors(const Correlation& correlation) const override { return correlation.coefficients.size() / 2; }
  double roundings(const Correlation& correlation) const override {  // those of the buffers add up over the rounds
    const auto rounds = static_cast<double>(correlation.horizon);
    return static_cast<double>(kept_vectors(correlation)) * rounds * rounds;
  }
  void encode(const Correlation& correlation, const NoiseRow& row,
              function_ref<void(std::size_t, std::span<const double>)> put) const override;
  void correlate(const Correlation& correlation, const NoiseRow& row,
                 function_ref<std::span<const double>(std::size_t)> draw) const override;
};

BufferedToeplitz buffered_of(const Correlation& correlation);

}  // namespace fedstride
