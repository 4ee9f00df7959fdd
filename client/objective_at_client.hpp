#pragma once

#include <vector>

#include "client/corrected_gradient.hpp"
#include "core/task.hpp"
#include "objectives/local_objective.hpp"
#include "optim/optimizers.hpp"

namespace fedstride {

/// A client's side of its local objective and of weight decay, for one round after the other of any client: makes the gradient
/// of its loss into that of the objective, follows its steps, and makes an update out of the weights it ends with.
class ObjectiveAtClient {
 public:
  /// Both must outlive it. `decayed` are the parameters that weight decay shrinks, in order.
  ObjectiveAtClient(const LocalObjectivePart& objective, const OptimizerPart& optimizer, std::vector<ParameterRange> decayed)
      : objective_(objective), optimizer_(optimizer), decayed_(std::move(decayed)) {}

  /// Begins a round of the client with that kept vector, which begins as zeros if it is of another size. Throws Error (failure)
  /// if the task lacks the vector that the server should send beside the model.
  void begin(const Task& task, Vector& kept);
  /// If needs_start(): the mean gradient of the client's rows at the model received belongs here, zeros until it is filled.
  bool needs_start() const { return objective_.needs_start(); }
  Vector& start() { return start_; }
  void set_start_loss(double mean_loss) { start_loss_ = mean_loss; }

  /// From now on these parameters do not train; until the next round begins.
  void hold(std::span<const ParameterRange> ranges) { corrected_.held = ranges; }
  const CorrectedGradient& corrected() const { return corrected_; }
  /// Hands a stretch of the gradient of the loss at `at` on, corrected (CorrectedGradient).
  double hand_on(const float* at, std::size_t offset, std::span<const float> gradient, GradientSink sink) const {
    return corrected_.hand_on(at, offset, gradient, sink);
  }
  void took(const StepReport& step) {
    if (rate_ == 0) rate_ = step.learning_rate;
    if (objective_.needs_reach()) optimizer_.follow(unit_, step);
  }

  /// Ends the round: `update` is the change of the weights, and behind it what is sent beside it. A change that is no use to anybody
  /// (ExactSum::admits) leaves what the client keeps as it was. `weight` is the client's in the mean. Returns the number that is sent
  /// too, where the objective scales; otherwise 0.
  double end(const Task& task, const Vector& weights, Vector& kept, Vector& update, double weight = 1) const;

 private:
  const LocalObjectivePart& objective_;
  const OptimizerPart& optimizer_;
  std::vector<ParameterRange> decayed_;
  CorrectedGradient corrected_ = {};
  UnitWeight unit_ = {};
  double start_loss_ = 0;
  double rate_ = 0;  ///< of the first step
  Vector fixed_;
  Vector start_;
};

}  // namespace fedstride
