#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/gradient.hpp"
#include "core/random.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// The noise of a run's releases, each correlated with that of earlier ones (dp/accountants/correlation.hpp). In units of the standard
/// deviation, in double, w_t for fresh standard normal z_t is
///   banded: w_t = z_t - sum_{0 < j < b} c_j w_{t-j}, from the last b - 1 of them;
///   blt: w_t = z_t - sum_i s_i m_i, then m_i <- d_i m_i + w_t;
///   tree: what the estimate of the prefix sum of the noise gains. A node over 2^(h+1) rounds is its own draw and the sum of its
///   children, weighted by their variances (Honaker 2015, from below): a node of height h is kept for each 1 in t's binary digits.
/// The draws z_t have the addresses of independent noise, so one band is that, bit for bit; inner nodes have the step of their height.
class CorrelatedNoise {
 public:
  /// Of sums of this many numbers.
  CorrelatedNoise(Correlation correlation, std::size_t size);

  /// Adds the round's noise. Throws Error (failure) unless the round is the one after the last, and one of those planned.
  void add(ExactSum& sum, double standard_deviation, const RandomSource& source, std::uint32_t round,
           ForEachPiece for_each_piece = serially);

  const Correlation& correlation() const { return correlation_; }
  std::uint32_t rounds() const { return rounds_; }  ///< done

  /// The state as bytes, and back. load throws Error (failure) if they are not those of such noise.
  std::string save() const;
  void load(const std::string& bytes);

 private:
  Correlation correlation_;
  std::size_t size_;
  std::uint32_t rounds_ = 0;
  std::vector<std::vector<double>> kept_;
};

}  // namespace fedstride
