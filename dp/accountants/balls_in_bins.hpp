#pragma once

#include <cstdint>
#include <vector>

namespace fedstride {

/// Balls-in-bins sampling (Chua et al. 2024): each record is once an epoch in one of b lots, drawn uniformly and the same in every epoch,
/// for add-remove or zero-out neighbors (the divisor is a public constant). E epochs with the same bins are one with noise
/// z / sqrt(E), and the dominating pair is P = (1/b) sum_j N(e_j, z^2 I) against Q = N(0, z^2 I) in b dimensions, both ways.
///
/// Under Q, dP/dQ is M = (W_1 + ... + W_b) / b, the W_j independent lognormals of mean 1. So delta is E (M - e^eps)_+ (remove) and
/// E (1 - e^eps M)_+ (add), expectations of convex functions of a sum, which only grow if every partial sum is replaced by one on the
/// points of a grid with the same conditional means: a proven upper bound at each step of a convolution, of second order in the grid.
/// What lies beyond the grid is kept as its probability and mean excess, for both functions are linear there.
class BallsInBins {
 public:
  static constexpr double kMaxBins = 1e6;
  static constexpr double kMostMu = 10;  ///< of sqrt(epochs) / noise multiplier
  static constexpr double kLeastMu = 1e-4;

  /// Throws Error (usage) unless noise multiplier / sqrt(epochs) is in [0.1, 1e4], 1 <= bins <= 1e6, epochs >= 1. 0.05 to 1 s; the time
  /// falls with the square of `coarseness`, with which the error of the bound grows.
  BallsInBins(double noise_multiplier, std::uint64_t bins, std::uint64_t epochs = 1, double coarseness = 1);

  double delta_remove(double epsilon) const;
  double delta_add(double epsilon) const;
  double delta(double epsilon) const;  ///< the larger
  /// The smallest epsilon with delta(epsilon) <= delta, from above. 0 < delta < 1.
  double epsilon(double delta) const;

  /// The distribution of a sum: probabilities of the points, and of what is beyond the last one, with its mean excess over it.
  struct Sum {
    std::vector<double> points = {};
    std::vector<double> chances = {};
    double beyond = 0;
    double excess = 0;
  };

 private:
  double mu_;  // 1 / (z / sqrt E)
  double bins_;
  Sum sum_;
};

}  // namespace fedstride
