#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "partitions/dealing.hpp"

namespace fedstride {

/// A client's proportions over the classes that still have rows, ready to draw from.
class ClassMixture {
 public:
  /// The logarithms of the proportions, up to a common summand; -infinity for a class without rows, one at least is finite.
  explicit ClassMixture(std::vector<double> logs) : logs_(std::move(logs)) { prepare(); }

  std::size_t draw(RandomStream& random) const;
  void leave_out(std::size_t label);

 private:
  void prepare();

  std::vector<double> logs_;
  std::vector<double> cumulative_;
  std::size_t likeliest_ = 0;
};

/// Deals lists of these sizes, which add up to the rows. One client after another draws its class proportions from
/// Dirichlet(alpha p), p the classes' shares of all rows, then each row's class from these (Hsu, Qi & Brown 2019). A class that
/// has run out is left out and the other proportions are normalised again.
Assignment dealt_by_mixture(const PartitionInput& input, double alpha, std::span<const std::size_t> sizes);

}  // namespace fedstride
