#pragma once

#include <cstddef>
#include <span>

#include "core/gradient.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {

/// The gradient of a client's local objective, out of that of its loss:
///   gradient + pull (weights - anchor) + fixed + decay x weights, and 0 where the weights are held
/// Each stretch is corrected while it is in the cache, on its way to the optimiser's sink.
struct CorrectedGradient {
  const float* anchor = nullptr;  ///< the model received
  const float* fixed = nullptr;   ///< null: none
  float pull = 0;
  float decay = 0;
  std::span<const ParameterRange> decayed = {};  ///< parameters that decay, in order: those that are trained

  std::span<const ParameterRange> held = {};  ///< parameters that do not train at present, in order

  bool is_plain() const { return fixed == nullptr && pull == 0 && decay == 0 && held.empty(); }

  /// Hands a stretch of the gradient at the weights `at` on, corrected; returns what the sink returns.
  double hand_on(const float* at, std::size_t offset, std::span<const float> gradient, GradientSink sink) const;
};

}  // namespace fedstride
