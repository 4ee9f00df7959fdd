#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "partitions/dealing.hpp"

namespace fedstride {

/// A client's class proportions, restricted to the classes that still have rows, ready to sample from.
class ClassMixture {
 public:
  /// `logs` has the logarithms of the proportions, up to an additive constant; -infinity for a class without rows. At least one
  /// must be finite.
  explicit ClassMixture(std::vector<double> logs) : logs_(std::move(logs)) { prepare(); }

  std::size_t draw(RandomStream& random) const;
  void leave_out(std::size_t label);

 private:
  void prepare();

  std::vector<double> logs_;
  std::vector<double> cumulative_;
  std::size_t likeliest_ = 0;
};

/// Deals the rows into lists of the given sizes, which must sum to the number of rows. Client by client, class proportions are
/// drawn from Dirichlet(alpha p), where p is the overall class distribution; each row's class is then drawn from those
/// proportions (Hsu, Qi & Brown 2019). Exhausted classes are dropped and the remaining proportions renormalized.
Assignment dealt_by_mixture(const PartitionInput& input, double alpha, std::span<const std::size_t> sizes);

}  // namespace fedstride
