#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/function_ref.hpp"
#include "core/gradient.hpp"
#include "core/part_state.hpp"
#include "core/pooled_statistic.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// The progress of training, for schedules; `epoch` is the number of local epochs completed so far, over all rounds.
/// It depends on the round number, not on any state, so a restarted client knows it too.
struct Progress {
  int epoch = 0;
  double of_round = 0;  ///< fraction of the client's steps in this round done so far, from 0 to below 1
  double noise = 0;     ///< standard deviation of the noise in one coordinate of the step's (first) gradient; 0: none
};

/// The result of one step.
struct StepReport {
  double learning_rate = 0;                                     ///< used in this step, for mean gradients
  bool accepted = true;                                         ///< false: undone; the weights are unchanged, bit for bit
  double error = 0;                                             ///< error estimate of adadp and pooled; 0 for others
  double kept = 1;                                              ///< factor on learning_rate if the step was shortened; 0: undone
  double statistic = std::numeric_limits<double>::quiet_NaN();  ///< this step's statistic, which the server pools; NaN: none
  double alignment = std::numeric_limits<double>::quiet_NaN();  ///< squared cosine of d1 - d2 with the previous step's (pooled)
};

/// A hypothetical weight that takes the same steps as the real ones, with a constant gradient of 1 and the pull of the local
/// objective. The distance it moves is the factor on a client's mean gradient: the sum of the learning rates for SGD, eta |a|_1
/// in general (Wang et al. 2020, Section 4).
struct UnitWeight {
  double pull = 0;
  double moved = 0;     ///< the reach
  double momentum = 0;  ///< for the optimizer's use
  double bias = 1;      ///< for the optimizer's use
  double gradient() const { return 1 - pull * moved; }
};

/// follow() for an optimizer without momentum whose step consists of `parts` equal parts.
inline void follow_rate(UnitWeight& unit, const StepReport& step, int parts) {
  for (int i = 0; i < parts; ++i) unit.moved += step.learning_rate * step.kept / parts * unit.gradient();
}

/// Help texts of settings that several optimizers share; the help shows each setting once.
inline constexpr std::string_view kRateHelp = "step size for the mean gradient of a batch; the initial one if it changes";
inline constexpr std::string_view kDecayHelp =
    "schedule inverse: rate / (1 + epochs x decay); after adapt-epochs: rate found / (1 + epochs since then x decay)";

/// epoch_of_change() of an optimizer whose steps always read the same number of batches.
inline constexpr int kNoChange = std::numeric_limits<int>::max();

/// A local optimizer. It requests gradients and knows neither data nor model. The state belongs to a client.
class OptimizerPart : public StatefulPart {
 public:
  static PartFamily& family();  ///< client/optim/optimizers.cpp has the list

  /// The number of gradients that a step computes at this point in training: the cost of the step.
  virtual int gradients_per_step(Progress progress = {}) const = 0;
  /// The number of successive gradients of the same batch, a divisor of gradients_per_step. Under example-level privacy each
  /// gradient has its own lot, since a release covers one gradient.
  virtual int gradients_per_batch() const { return 1; }
  /// The number of batches a step reads without example-level privacy.
  int batches_per_step(Progress progress = {}) const { return gradients_per_step(progress) / gradients_per_batch(); }
  /// The first epoch in which steps read more or fewer batches than in epoch 0. Their number changes at most once.
  virtual int epoch_of_change() const { return kNoChange; }
  /// True if, by default, a client keeps the optimizer's state between rounds.
  virtual bool keeps_state() const { return false; }
  /// False if a step depends on nothing that earlier steps left, so that there is nothing to keep.
  virtual bool has_state() const = 0;
  /// Weight decay: this factor times the weights is added to their gradient.
  virtual double weight_decay_factor() const { return 0; }
  /// Called once before training if the gradients carry noise (differential privacy); is_set(name) is true if the user set it.
  virtual void gradients_are_noisy(function_ref<bool(std::string_view setting)> /*is_set*/) {}

  /// True if a step reads Gradient::loss.
  virtual bool reads_losses() const { return false; }

  /// True if a step's learning rate depends on the step's own gradient.
  virtual bool rate_follows_gradient() const { return false; }
  /// The learning rate that the next step will use; if rate_follows_gradient(), that of the last step.
  virtual double learning_rate(const PartState& state, Progress progress) const = 0;
  /// Takes one step, in place. `scratch` is the thread's temporary memory, shared by all clients of a model; its contents are
  /// arbitrary, and so is its size: resize it before use.
  virtual StepReport step(PartState& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const = 0;

  /// True if the optimizer's steps, given their learning rates, are linear in its gradients.
  virtual bool follows() const { return false; }
  /// If follows(): applies the reported step to `unit`, which starts every round afresh, even if the client keeps the momentum of
  /// earlier rounds.
  virtual void follow(UnitWeight& /*unit*/, const StepReport& /*step*/) const {}

  /// True if the server sends numbers to all clients along with the model.
  virtual bool is_told() const { return false; }
  /// True if clients also report a statistic of their steps to the server (StepReport::statistic).
  virtual bool pools() const { return false; }
  /// If is_told(), makes the server's side; otherwise returns null. Throws Error (usage) if the plan is impossible.
  virtual std::unique_ptr<PooledStatistic> begin_pool(const PoolPlan& /*plan*/) const { return nullptr; }
  /// Receives the server's numbers before a client's first step in a round; `told` is empty if the server sent none.
  virtual void hear(PartState& state, std::span<const double> told) const = 0;
};

/// The base of the local optimizer Self. Without a state of its own (a Vector, or a struct that cereal can serialize), its functions
/// still take one: `double learning_rate(const NoState&, Progress) const` and `StepReport step(NoState&, Vector& scratch, ...) const`.
template <class Self, class Settings, class State = NoState>
class OptimizerBase : public StatefulBase<OptimizerPart, Self, Settings, State> {
 public:
  using StatefulBase<OptimizerPart, Self, Settings, State>::StatefulBase;

  virtual double learning_rate(const State& state, Progress progress) const = 0;
  virtual StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const = 0;
  virtual void hear(State& /*state*/, std::span<const double> /*told*/) const {}

  bool has_state() const final { return !std::is_same_v<State, NoState>; }
  double learning_rate(const PartState& state, Progress progress) const final {
    return learning_rate(this->own(state), progress);
  }
  StepReport step(PartState& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const final {
    return this->self().step(this->own(state), scratch, weights, gradient, progress);  // Self is final: no second virtual call
  }
  void hear(PartState& state, std::span<const double> told) const final { hear(this->own(state), told); }
};

/// Throws Error (failure) unless the state, which may come from a file, belongs to a model of this size.
inline void check_state_size(std::string_view optimizer, const Vector& state, const Vector& weights) {
  if (state.size() == weights.size()) return;
  throw failure("the state of optimizer '" + std::string(optimizer) + "' is for " + number_text(state.size()) +
                " parameters; the model has " + number_text(weights.size()));
}

/// The local optimizer chosen for a run; sim/settings/automatic.cpp has the default.
using Optimizer = Chosen<OptimizerPart>;

}  // namespace fedstride
