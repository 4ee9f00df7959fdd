#pragma once

#include "nn/model.hpp"

namespace fedstride {

/// Speed of one thread on one model, on random data.
struct NetworkSpeed {
  int batch = 0;
  double step_seconds = 0;       ///< gradient and SGD update of one batch: median of many
  double flops_per_example = 0;  ///< dense arithmetic, ignoring savings from sparsity
  double evaluate_seconds = 0;   ///< forward pass only, median

  double examples_per_second() const { return batch / step_seconds; }
  double flops_per_second() const { return flops_per_example * examples_per_second(); }
};

/// Measures steps of `batch` random examples for about `seconds`.
NetworkSpeed measure_network(const Model& model, int batch, double seconds);

/// Measures the peak of one core, in floating-point operations per second, with independent fused multiply-adds in registers;
/// returns the best of several runs.
double measure_fp32_peak();

}  // namespace fedstride
