#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dp/correlations/participation.hpp"

namespace fedstride {

/// A buffered linear Toeplitz matrix (Dvijotham et al. 2024): c_0 = 1, c_t = sum_i scale_i decay_i^(t-1), so C x and C^-1 x need
/// one buffer for each i instead of all earlier steps. If 0 < decay < 1, scale > 0 and the scales add up to at most 1, the
/// coefficients never increase.
struct BufferedToeplitz {
  std::vector<double> scale = {};
  std::vector<double> decay = {};

  std::vector<double> coefficients(std::size_t steps) const;
};

/// Throws Error (usage) unless the conditions above hold.
void check_buffered(const BufferedToeplitz& toeplitz);

/// Computes C x, one value per step (y = x + s . buffers, then buffers = d * buffers + x), or the inverse, C^-1 y.
class BufferedStream {
 public:
  explicit BufferedStream(BufferedToeplitz toeplitz);
  double multiply(double x);
  double invert(double y);

 private:
  double inner() const;
  void push(double x);
  BufferedToeplitz toeplitz_;
  std::vector<double> buffers_;
};

/// The matrix with this many buffers (1 to 10) that minimizes sens(C) x the largest error of prefix sums over these steps for
/// this participation. The search starts from rational_buffered_toeplitz(), a rational approximation of (1 - x)^{-1/2}: the
/// trapezoid rule for 2 / pi int e^u / (e^{2u} + 1 - x) du.
BufferedToeplitz optimal_buffered_toeplitz(std::size_t buffers, std::size_t steps, const Participation& participation);
BufferedToeplitz rational_buffered_toeplitz(std::size_t buffers);

}  // namespace fedstride
