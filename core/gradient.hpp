#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "core/function_ref.hpp"

namespace fedstride {

/// Receives a stretch of the gradient as soon as it is computed; `offset` is where the stretch begins in the flat parameter
/// vector. Every parameter is reported exactly once per gradient (frozen ones as zeros), in stretches whose bounds depend only on
/// the model, possibly from several threads at once. The returned values are added in a fixed order, regardless of the order of
/// the threads, so an optimizer that needs a norm of its step always gets the same bits.
///
/// A stretch is reported only once the computation no longer reads the corresponding weights, so a sink may overwrite those
/// weights.
using GradientSink = function_ref<double(std::size_t offset, std::span<const float> gradient)>;

/// The same for a sum of examples' gradients, each multiplied by a factor, which is added up in double.
using SumSink = function_ref<double(std::size_t offset, std::span<const double> sum)>;

/// Computes the mean gradient over a batch at `weights` (the flat vector); returns the sum of the sink's values. Each call
/// processes one batch and, under differential privacy, makes one noisy release.
class Gradient : public function_ref<double(const float* weights, GradientSink sink)> {
 public:
  using function_ref::function_ref;
  /// Each call of `compute` must set `loss`.
  Gradient(function_ref compute, const double& loss) : function_ref(compute), loss_(&loss) {}

  /// The mean loss of the last batch at the weights where its gradient was computed, from the same forward pass; NaN if unknown.
  /// Under differential privacy, no release covers it.
  double loss() const { return loss_ != nullptr ? *loss_ : std::numeric_limits<double>::quiet_NaN(); }

 private:
  const double* loss_ = nullptr;
};

/// Runs piece(0) ... piece(count - 1), in any order, on any threads, and returns when all are done.
/// The division of work into pieces must not depend on the number of threads.
using ForEachPiece = function_ref<void(int count, function_ref<void(int)> piece)>;

/// Runs all pieces on this thread, in order.
inline void serially(int count, function_ref<void(int)> piece) {
  for (int i = 0; i < count; ++i) piece(i);
}

}  // namespace fedstride
