#pragma once

#include <vector>

#include "client/compression/compressor.hpp"
#include "client/objectives/local_objective.hpp"
#include "client/optim/optimizer.hpp"
#include "dp/accountants/mechanism.hpp"
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

/// Times of a plain gradient and of a noisy release, which computes per-example norms, a clipped sum and seeded noise
/// (dp/noise/clipped_sum.hpp). Neither changes the weights.
struct PrivateSpeed {
  double plain_seconds = 0;    ///< median of many
  double private_seconds = 0;  ///< median of many
  double ratio = 0;            ///< private / plain: median over pairs measured consecutively
};

/// `frozen` has one flag for each layer (Model::frozen), or is empty.
PrivateSpeed measure_private(const Model& model, int batch, const std::vector<bool>& frozen, double seconds);

/// The time of a part, and its ratio to a baseline's. A local optimizer's step is compared with one SGD step per gradient.
struct OptimizerSpeed {
  double step_seconds = 0;  ///< per gradient, or per release of noise: median of many
  double ratio = 0;         ///< to SGD, or to independent noise: median over pairs measured consecutively
};

/// If `optimizer` has a setting learning-rate, it is set so small that the weights do not change.
OptimizerSpeed measure_optimizer(const Model& model, int batch, const Optimizer& optimizer, double seconds);

/// Compares an SGD step under a local objective with one under the plain loss.
OptimizerSpeed measure_objective(const Model& model, int batch, const LocalObjective& objective, double seconds);

/// Times of encoding and decoding a million weights, and the size of the code.
struct CodeSpeed {
  double encode_seconds = 0;  ///< median of many
  double decode_seconds = 0;  ///< median of many
  std::size_t bytes = 0;
};
CodeSpeed measure_compression(const UpCompression& compression, double seconds);

/// Compares the time that a mechanism's noise takes for a release of a million weights with that of independent noise.
OptimizerSpeed measure_noise(const MechanismPart& mechanism, double seconds);

/// Measures the peak of one core, in floating-point operations per second, with independent fused multiply-adds in registers;
/// returns the best of several runs.
double measure_fp32_peak();

}  // namespace fedstride
