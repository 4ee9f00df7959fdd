#pragma once

#include <span>
#include <vector>

#include "dp/accountants/mechanism.hpp"
#include "dp/accountants/tight_contour.hpp"

namespace fedstride::tight {

/// The exposure of one record: equal releases merged, all Gaussian releases of every record as one.
struct Schedule {
  struct Step {
    double rate;
    double noise_multiplier;
    double count;
  };
  std::vector<Step> steps;  ///< Poisson-sampled, rate below 1; sorted, no two equal
  double gaussian = 0;      ///< mu^2
  Neighbours neighbours = Neighbours::add_remove;

  explicit Schedule(std::span<const Releases> spending);
  bool empty() const { return steps.empty() && gaussian == 0; }
  /// An upper bound on the total variation distance between the outputs of neighbours, and so on delta at any epsilon.
  double total_variation() const;
  /// Replaces many different steps by a few dozen whose logarithmic moments interpolate theirs. Steps of a noise multiplier
  /// below 0.1, whose quadrature would take thousands of nodes, are open instead; steps of too many kinds for either are
  /// counted by coarser() (dp/accountants/spending.hpp).
  Composition composition(Pair pair) const;
  /// All of them open: never better, but within reach at any numbers.
  Composition opened() const;
};

}  // namespace fedstride::tight
