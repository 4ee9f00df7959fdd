#pragma once

#include <cereal/archives/portable_binary.hpp>
#include <istream>
#include <ostream>
#include <utility>

#include "core/serialize.hpp"
#include "optim/optimizers.hpp"

namespace fedstride {

/// A local optimiser O as an OptimizerPart. For the list of optimisers, and for adding one: Optimizer(MyOptimizer{}).
template <LocalOptimizer O>
class OptimizerOf final : public PartOf<OptimizerPart, OptimizerOf<O>, O> {
  using Base = PartOf<OptimizerPart, OptimizerOf<O>, O>;
  using Base::part_;

  struct State final : OptimizerState {
    typename O::State value = {};
  };
  struct Scratch final : OptimizerScratch {
    typename O::Scratch value = {};
  };
  static auto& own(OptimizerState& state) { return static_cast<State&>(state).value; }
  static const auto& own(const OptimizerState& state) { return static_cast<const State&>(state).value; }

 public:
  using Base::Base;

  int gradients_per_step() const final { return O::kGradientsPerStep; }
  int gradients_per_step(Progress progress) const final { return fedstride::gradients_per_step(part_, progress); }
  int epoch_of_change() const final { return fedstride::epoch_of_change(part_); }
  bool keeps_state() const final { return O::kKeepsState; }
  std::unique_ptr<OptimizerState> make_state() const final { return std::make_unique<State>(); }
  std::unique_ptr<OptimizerScratch> make_scratch() const final { return std::make_unique<Scratch>(); }
  void start(OptimizerState& state, std::size_t size) const final { part_.start(own(state), size); }
  double learning_rate(const OptimizerState& state, Progress progress) const final {
    return part_.learning_rate(own(state), progress);
  }
  StepReport step(OptimizerState& state, OptimizerScratch& scratch, Vector& weights, Gradient gradient,
                  Progress progress) const final {
    return part_.step(own(state), static_cast<Scratch&>(scratch).value, weights, gradient, progress);
  }
  void save(const OptimizerState& state, std::ostream& bytes) const final {
    cereal::PortableBinaryOutputArchive archive(bytes);
    archive(own(state));
  }
  void load(OptimizerState& state, std::istream& bytes) const final {
    cereal::PortableBinaryInputArchive archive(bytes);
    archive(own(state));
  }
  void gradients_are_noisy(function_ref<bool(std::string_view setting)> is_set) final {
    if constexpr (requires { part_.gradients_are_noisy(is_set); }) part_.gradients_are_noisy(is_set);
  }
};

}  // namespace fedstride
