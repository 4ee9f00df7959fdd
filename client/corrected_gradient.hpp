#pragma once

#include <cstddef>
#include <span>

#include "core/gradient.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {

/// Turns the gradient of a client's loss into the gradient of its local objective:
///   gradient + pull (weights - anchor) + fixed + decay x weights, and 0 for held parameters
/// Each stretch is corrected while it is in cache, on its way to the optimizer's sink.
struct CorrectedGradient {
  const float* anchor = nullptr;  ///< the model received
  const float* fixed = nullptr;   ///< null: none
  float pull = 0;
  float decay = 0;
  std::span<const ParameterRange> decayed = {};  ///< parameters under weight decay (the trained ones), in order

  std::span<const ParameterRange> held = {};  ///< parameters not being trained now, in order

  bool is_plain() const { return fixed == nullptr && pull == 0 && decay == 0 && held.empty(); }

  /// Corrects a stretch of the gradient at the weights `at` and passes it to the sink; returns the sum of the sink's results.
  double emit(const float* at, std::size_t offset, std::span<const float> gradient, GradientSink sink) const;
};

}  // namespace fedstride
