#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <vector>

#include "core/function_ref.hpp"
#include "core/part.hpp"
#include "optim/optimizer.hpp"

namespace fedstride {

template <LocalOptimizer O>
class OptimizerOf;  // optim/optimizer_of.hpp

/// A client's optimiser state, carried from round to round; only its optimiser makes, changes and saves it.
class OptimizerState {
 public:
  virtual ~OptimizerState() = default;
};
/// Temporary vectors of a step; owned by a thread.
class OptimizerScratch {
 public:
  virtual ~OptimizerScratch() = default;
};

/// The abstract interface of a local optimiser; optim/optimizer.hpp documents each function. States and scratches must come
/// from the same kind of optimiser.
class OptimizerPart : public Part {
 public:
  static PartFamily& family();  ///< optim/optimizers.cpp has the list
  template <LocalOptimizer O>
  using Of = OptimizerOf<O>;

  virtual int gradients_per_step() const = 0;  ///< of the first epoch
  virtual int gradients_per_step(Progress progress) const = 0;
  virtual int epoch_of_change() const = 0;
  virtual bool keeps_state() const = 0;
  virtual std::unique_ptr<OptimizerState> make_state() const = 0;
  virtual std::unique_ptr<OptimizerScratch> make_scratch() const = 0;
  virtual void start(OptimizerState& state, std::size_t size) const = 0;
  virtual double learning_rate(const OptimizerState& state, Progress progress) const = 0;
  virtual StepReport step(OptimizerState& state, OptimizerScratch& scratch, Vector& weights, Gradient gradient,
                          Progress progress) const = 0;
  /// Cereal's portable binary form. load throws if the bytes are not in this form.
  virtual void save(const OptimizerState& state, std::ostream& bytes) const = 0;
  virtual void load(OptimizerState& state, std::istream& bytes) const = 0;
  /// Takes a reported step with a weight of a constant gradient. Only if follows().
  virtual void follow(UnitWeight& unit, const StepReport& step) const = 0;
  virtual bool follows() const = 0;
  virtual double weight_decay() const = 0;
  /// Called before a client's first step of a round.
  virtual void hear(OptimizerState& state, std::span<const double> told) const = 0;
  virtual bool is_told() const = 0;  ///< true if the server tells its clients something with the model
  virtual bool pools() const = 0;    ///< true if clients tell the server a statistic of their steps; then it is told, too
  /// Null unless it can be told something.
  virtual std::unique_ptr<PooledStatistic> begin_pool(const PoolPlan& plan) const = 0;
  /// Called once, before training, if the gradients carry noise; is_set(name) is true if the user chose that setting.
  virtual void gradients_are_noisy(function_ref<bool(std::string_view setting)> is_set) = 0;
};

/// A local optimiser that has been chosen; the default is ADADP.
using Optimizer = Chosen<OptimizerPart>;

}  // namespace fedstride
