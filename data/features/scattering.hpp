#pragma once

#include <span>
#include <string>
#include <string_view>

#include "data/features/feature_map.hpp"

namespace fedstride {

/// The scattering transform of an image (Bruna & Mallat 2013; Oyallon & Mallat 2015): moduli of Morlet wavelet coefficients,
/// averaged by a Gaussian. Each channel of H x W values yields 1 + J L + L^2 J (J - 1) / 2 channels of size floor(H / 2^J) by
/// floor(W / 2^J):
///   S0 = x * phi                          the average
///   S1 = |x * psi_(j,l)| * phi            j = 0 ... J - 1, l = 0 ... L - 1
///   S2 = ||x * psi_(j,l)| * psi_(k,m)| * phi,  j < k
/// in this order, with (j, l) before (k, m), where
///   psi_(j,l)  envelope (e^(i xi u1) - beta), of mean 0; u is rotated by (floor(L - L/2 - 1) - l) pi / L, xi = 3 pi / 2^(j+2),
///              and the Gaussian envelope has standard deviation 0.8 2^j along u1 and L/4 times that across it
///   phi        Gaussian of standard deviation 0.8 2^(J-1)
/// as in Kymatio, whose wavelengths are longer by a factor of 1 + 3e-5, since it sets pi to 3.1415. Images are extended by
/// reflection to multiples of 2^J, by at least 2^(J-1) on each side. After psi_j, signals are sampled every 2^j pixels, and
/// filters of sampled signals are cut to the remaining band.
class Scattering final : public FeatureMap {
 public:
  static constexpr std::string_view kWord = "scattering";
  static constexpr std::string_view kSyntax = "scattering [SCALES [ORIENTATIONS]] [centered]";

  /// J is from 1 to 5, L from 1 to 32. If centered, 0.5 is subtracted from the values, which changes only S0.
  explicit Scattering(int scales = 2, int orientations = 8, bool is_centered = false)
      : scales_(scales), orientations_(orientations), is_centered_(is_centered) {}
  /// Parses the words of a setting. Throws Error (usage).
  static Scattering read(std::span<const std::string_view> words);

  std::string text() const override;
  Shape output(const Shape& picture) const override;
  MapPictures mapper(const Shape& picture) const override;

  int paths() const { return 1 + scales_ * orientations_ + orientations_ * orientations_ * scales_ * (scales_ - 1) / 2; }

 private:
  int scales_;
  int orientations_;
  bool is_centered_;
};

}  // namespace fedstride
