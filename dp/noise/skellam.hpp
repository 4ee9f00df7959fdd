#pragma once

#include <cstdint>
#include <vector>

#include "core/random.hpp"

namespace fedstride {

/// The Poisson distribution, drawn exactly: all arithmetic is on integers, and every branch is taken with exactly its
/// probability. For a whole rate m, a table holds the ratios P(k) / P(m) rounded down to multiples of 2^-bits. A draw falls into
/// the table or, with a probability of about 2^-45 or less, into the rounding remainder, where the exact ratio, a fraction of
/// integers, decides whether to accept it. Memory is about 150 sqrt(rate) bytes.
class Poisson {
 public:
  static constexpr double kUnit = 0x1p-16;                           ///< unit of rates
  static constexpr std::uint64_t kMaxRate = std::uint64_t{1} << 46;  ///< in units of kUnit: a rate of 2^30

  /// `rate` is in units of 2^-16 and at least 1. `precision`, at most 62, bounds log2 of the sum of the table's weights; tests
  /// use less.
  explicit Poisson(std::uint64_t rate, unsigned precision = 62);

  std::uint64_t operator()(RandomStream& random) const;

 private:
  // A table for a whole rate; empty for rate 0.
  struct Table {
    Table(std::uint64_t rate, unsigned precision);
    std::uint64_t operator()(RandomStream& random) const;

   private:
    std::uint64_t left_over(std::uint64_t at, RandomStream& random, bool& found) const;
    std::uint64_t rate;
    unsigned bits = 0;                 // weights are multiples of 2^-bits
    std::uint64_t first = 0;           // the number that the first entry stands for
    std::vector<std::uint64_t> ends;   // sums of weights up to and including each entry
    std::vector<std::uint32_t> guide;  // the first entry that ends beyond i << guide_shift
    unsigned guide_shift = 0;
  };

  Table whole_;
  Table one_;  // for the rate's fractional part
  std::uint64_t fraction_;
};

/// Skellam noise, the difference of two Poisson draws of equal rates: its variance is twice the rate, and a sum of independent
/// draws is again Skellam.
class Skellam {
 public:
  static constexpr double kMaxVariance = 0x1p31;

  /// The variance is rounded up to a multiple of 2^-15 or, from 2^17 upward, to a multiple of 2. Throws Error (usage) unless it
  /// is above 0 and at most kMaxVariance.
  explicit Skellam(double variance, unsigned precision = 62);

  double variance() const { return variance_; }  ///< as rounded
  std::int64_t operator()(RandomStream& random) const {
    const auto up = static_cast<std::int64_t>(poisson_(random));
    return up - static_cast<std::int64_t>(poisson_(random));
  }

 private:
  double variance_;
  Poisson poisson_;
};

}  // namespace fedstride
