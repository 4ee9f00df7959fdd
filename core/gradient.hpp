#pragma once

#include <cstddef>
#include <span>

#include "core/function_ref.hpp"

namespace fedstride {

/// Takes a stretch of the gradient as soon as it is known: `offset` is where the stretch begins in the flat parameter
/// vector. Every parameter is reported exactly once a gradient (frozen ones as zeros), in stretches whose bounds depend
/// on the model alone, possibly from several threads at once. What it returns is added up in a fixed order, whichever
/// thread was first: an optimiser that needs a norm of its step gets the same bits always.
///
/// A stretch is reported only when nothing will read those weights again in this gradient, so a sink may overwrite the
/// very weights the gradient is taken at.
using GradientSink = function_ref<double(std::size_t offset, std::span<const float> gradient)>;

/// Mean gradient over a fresh batch at `weights` (the flat vector); returns the sum of what the sink returned.
/// One call is one batch, and under differential privacy one noisy release.
using Gradient = function_ref<double(const float* weights, GradientSink sink)>;

/// Runs piece(0) ... piece(count - 1), in any order, on any threads, and returns when all are done.
/// How the work is cut into pieces must not depend on how many threads there are.
using ForEachPiece = function_ref<void(int count, function_ref<void(int)> piece)>;

/// All pieces, here, in order.
inline void serially(int count, function_ref<void(int)> piece) {
  for (int i = 0; i < count; ++i) piece(i);
}

}  // namespace fedstride
