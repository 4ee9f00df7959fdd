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

/// Times of a gradient and of a noisy release: per-example norms, clipped sum, seeded noise (dp/noise/clipped_sum.hpp). Neither
/// changes the weights.
struct PrivateSpeed {
  double plain_seconds = 0;    ///< median of many
  double private_seconds = 0;  ///< median of many
  double ratio = 0;            ///< private / plain: median over pairs measured consecutively
};

/// `frozen` has one flag for each layer (Model::frozen), or is empty.
PrivateSpeed measure_private(const Model& model, int batch, const std::vector<bool>& frozen, double seconds);

/// The cost of adapting: compares a local optimizer's step with as many SGD steps as it computes gradients.
struct OptimizerSpeed {
  double step_seconds = 0;  ///< per gradient: median of many
  double ratio = 0;         ///< relative to SGD: median over pairs measured consecutively
};

/// If `optimizer` has a setting learning-rate, it is set so small that the weights do not change.
OptimizerSpeed measure_optimizer(const Model& model, int batch, const Optimizer& optimizer, double seconds);

/// Compares an SGD step under a local objective with one under the plain loss.
OptimizerSpeed measure_objective(const Model& model, int batch, const LocalObjective& objective, double seconds);

/// Encoding and decoding a million weights.
struct CodeSpeed {
  double encode_seconds = 0;  ///< median of many
  double decode_seconds = 0;  ///< median of many
  std::size_t bytes = 0;
};
CodeSpeed measure_compression(const UpCompression& compression, double seconds);

/// Compares the noise of a release of a million weights with independent noise.
OptimizerSpeed measure_noise(const MechanismPart& mechanism, double seconds);

/// Peak of one core in floating-point operations per second: independent fused multiply-adds in registers, best of several runs.
double measure_fp32_peak();

}  // namespace fedstride
