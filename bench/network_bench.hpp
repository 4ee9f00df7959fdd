#pragma once

#include <vector>

#include "nn/model.hpp"
#include "objectives/local_objective.hpp"
#include "optim/optimizers.hpp"

namespace fedstride {

/// Speed of one thread on one model, on random data.
struct NetworkSpeed {
  int batch = 0;
  double step_seconds = 0;       ///< gradient and SGD update of one batch: median of many
  double best_step_seconds = 0;  ///< the fastest, as on an otherwise idle machine
  double flops_per_example = 0;  ///< of the dense arithmetic, savings by sparsity not subtracted
  double evaluate_seconds = 0;   ///< forwards only, median

  double examples_per_second() const { return batch / step_seconds; }
  double flops_per_second() const { return flops_per_example * examples_per_second(); }
};

/// Two a multiply-add: forwards, data gradient (unless only the inputs would have it) and weight gradient.
double dense_flops_per_example(const Model& model);

/// Steps of `batch` random examples for about `seconds`.
NetworkSpeed measure_network(const Model& model, int batch, double seconds = 1);

/// A gradient, and a noisy release: per-example norms, clipped sum, seeded noise (dp/noise/clipped_sum.hpp); neither moves the
/// weights.
struct PrivateSpeed {
  double plain_seconds = 0;    ///< median of many
  double private_seconds = 0;  ///< median of many
  double ratio = 0;            ///< private to plain: median over pairs measured one after the other
};

/// `frozen` has a flag a layer (Model::frozen), or is empty.
PrivateSpeed measure_private(const Model& model, int batch, const std::vector<bool>& frozen = {}, double seconds = 1);

/// A local optimiser's step against as many of SGD's as it takes gradients, each of its own: what adapting costs.
struct OptimizerSpeed {
  double sgd_seconds = 0;   ///< of a gradient: median of many
  double step_seconds = 0;  ///< of a gradient, the share of a step: median of many
  double ratio = 0;         ///< of the two: median over pairs measured one after the other
};

/// `optimizer` must have a setting learning-rate; it is measured at one so small that the weights stay where they are.
OptimizerSpeed measure_optimizer(const Model& model, int batch, Optimizer optimizer, double seconds = 1);

/// A gradient and SGD's update under a local objective against the same under the loss alone.
OptimizerSpeed measure_objective(const Model& model, int batch, const LocalObjective& objective, double seconds = 1);

/// Peak of one core: independent fused multiply-adds on registers, floating-point operations a second, best of a few
/// runs.
double measure_fp32_peak();

}  // namespace fedstride
