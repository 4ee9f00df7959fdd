#pragma once

#include <span>
#include <vector>

#include "dp/accountants/tight_contour.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride::tight {

/// What one record was exposed to, put together: alike releases once, Gaussian ones of every record as one.
struct Schedule {
  struct Step {
    double rate;
    double noise_multiplier;
    double count;
  };
  std::vector<Step> steps;  ///< Poisson-sampled, rate below 1; sorted, no two alike
  double gaussian = 0;      ///< mu^2
  Neighbours neighbours = Neighbours::add_remove;

  explicit Schedule(std::span<const Releases> spending);
  bool empty() const { return steps.empty() && gaussian == 0; }
  /// At least the total variation distance between what neighbours lead to: an upper bound on delta at any epsilon.
  double total_variation() const;
  /// Many different steps are replaced by some dozens whose logarithmic moments interpolate theirs.
  Composition composition(Pair pair) const;
};

}  // namespace fedstride::tight
