#pragma once

#include <cstddef>
#include <span>

#include "core/function_ref.hpp"

namespace fedstride {

/// Receives a stretch of the gradient as soon as it is computed; `offset` is where the stretch begins in the flat parameter
/// vector. Every parameter is reported exactly once a gradient (frozen ones as zeros), in stretches whose bounds depend
/// on the model alone, possibly from several threads at once. The values it returns are added up in a fixed order whatever
/// the order of the threads, so an optimiser that needs a norm of its step always gets the same bits.
///
/// A stretch is reported only when nothing will read those weights again in this gradient, so a sink may overwrite the
/// weights at which the gradient is taken.
using GradientSink = function_ref<double(std::size_t offset, std::span<const float> gradient)>;

/// Computes the mean gradient over a fresh batch at `weights` (the flat vector); returns the sum of the sink's values.
/// One call is one batch, and under differential privacy one noisy release.
using Gradient = function_ref<double(const float* weights, GradientSink sink)>;

/// Runs piece(0) ... piece(count - 1), in any order, on any threads, and returns when all are done.
/// The way work is cut into pieces must not depend on the number of threads.
using ForEachPiece = function_ref<void(int count, function_ref<void(int)> piece)>;

/// Runs all pieces on this thread, in order.
inline void serially(int count, function_ref<void(int)> piece) {
  for (int i = 0; i < count; ++i) piece(i);
}

}  // namespace fedstride
