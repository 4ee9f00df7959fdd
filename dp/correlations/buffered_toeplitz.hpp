#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dp/correlations/participation.hpp"

namespace fedstride {

/// A buffered linear Toeplitz matrix (Dvijotham et al. 2024): c_0 = 1, c_t = sum_i scale_i decay_i^(t-1), so that C x and C^-1 x need a
/// buffer for each i instead of all earlier steps. 0 < decay < 1, scale > 0, the scales' sum at most 1: coefficients never rise.
struct BufferedToeplitz {
  std::vector<double> scale = {};
  std::vector<double> decay = {};

  std::vector<double> coefficients(std::size_t steps) const;
};

/// Throws Error (usage) unless the numbers meet the above.
void check_buffered(const BufferedToeplitz& toeplitz);

/// C x, or C^-1 x, one value a step: y = x + s . buffers; buffers = d * buffers + x, and its inverse.
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

/// This many buffers (1 to 10), minimizing sens(C) x the largest error of prefix sums over these steps for this participation.
/// Starts from a rational approximation of (1 - x)^{-1/2}: the trapezoid rule for 2 / pi int e^u / (e^{2u} + 1 - x) du.
BufferedToeplitz optimal_buffered_toeplitz(std::size_t buffers, std::size_t steps, const Participation& participation);
BufferedToeplitz rational_buffered_toeplitz(std::size_t buffers);

}  // namespace fedstride
