#pragma once

#include <vector>

#include "client/corrected_gradient.hpp"
#include "client/objectives/local_objective.hpp"
#include "client/optim/optimizer.hpp"
#include "core/task.hpp"

namespace fedstride {

/// The client's side of the local objective and of weight decay, for successive rounds of any clients. Corrects the gradient of
/// the loss, records the steps, and turns the final weights into an update.
class ObjectiveAtClient {
 public:
  /// Objective and optimizer must outlive this object. `decayed` lists the parameters under weight decay, in order.
  ObjectiveAtClient(const LocalObjectivePart& objective, const OptimizerPart& optimizer, std::vector<ParameterRange> decayed)
      : objective_(objective), optimizer_(optimizer), decayed_(std::move(decayed)) {}

  /// Starts a round for the client that keeps the vector `kept`, which is reset to zeros if it has the wrong size. Throws Error
  /// (failure) if the task lacks the vector that the server must send with the model.
  void begin(const Task& task, Vector& kept);
  /// If needs_start(): start(), initially 0, must be filled with the mean gradient over the client's rows at the model received.
  bool needs_start() const { return objective_.needs_start(); }
  Vector& start() { return start_; }
  void set_start_loss(double mean_loss) { start_loss_ = mean_loss; }

  /// Excludes these parameters from training until the next call or the next round.
  void hold(std::span<const ParameterRange> ranges) { corrected_.held = ranges; }
  const CorrectedGradient& corrected() const { return corrected_; }
  /// See CorrectedGradient::emit.
  double emit(const float* at, std::size_t offset, std::span<const float> gradient, GradientSink sink) const {
    return corrected_.emit(at, offset, gradient, sink);
  }
  void record(const StepReport& step) {
    if (rate_ == 0) rate_ = step.learning_rate;
    if (objective_.needs_reach()) optimizer_.follow(unit_, step);
  }

  /// Ends the round: fills `update` with the change of the weights, followed by the vector sent with it. Leaves `kept` unchanged
  /// if ExactSum::admits rejects the change. `weight` is the client's weight in the mean. Returns ObjectiveScale::measure
  /// if the objective scales, otherwise 0.
  double end(const Task& task, const Vector& weights, Vector& kept, Vector& update, double weight = 1) const;

 private:
  const LocalObjectivePart& objective_;
  const OptimizerPart& optimizer_;
  std::vector<ParameterRange> decayed_;
  CorrectedGradient corrected_ = {};
  UnitWeight unit_ = {};
  double start_loss_ = 0;
  double rate_ = 0;  ///< learning rate of the first step
  Vector fixed_;
  Vector start_;
};

}  // namespace fedstride
