#pragma once

#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/array.hpp>
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
  template <ToldOptimizer P>
  struct PoolOf final : PooledStatistic {
    PoolOf(const P& kind, const PoolPlan& plan) : part(kind), value(part.begin_pool(plan)) {}
    std::vector<double> tell(std::uint32_t round) const final {
      const auto told = part.tell(value, round);
      static_assert(std::tuple_size_v<std::remove_const_t<decltype(told)>> <= kMaxTold);
      return {told.begin(), told.end()};
    }
    void take(double sum, std::uint64_t count) final {
      if constexpr (PoolingOptimizer<P>) part.take(value, sum, count);
    }
    void save(std::ostream& bytes) const final {
      cereal::PortableBinaryOutputArchive archive(bytes);
      archive(value);
    }
    void load(std::istream& bytes) final {
      cereal::PortableBinaryInputArchive archive(bytes);
      archive(value);
    }
    P part;
    typename P::Pool value;
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
  void follow(UnitWeight& unit, const StepReport& step) const final {
    if constexpr (FollowedOptimizer<O>) part_.follow(unit, step);
  }
  bool follows() const final { return FollowedOptimizer<O>; }
  double weight_decay() const final {
    if constexpr (requires { part_.weight_decay; }) return part_.weight_decay;
    return 0;
  }
  void hear(OptimizerState& state, std::span<const double> told) const final {
    if constexpr (ToldOptimizer<O>) part_.hear(own(state), told);
  }
  bool is_told() const final {
    if constexpr (requires { part_.is_told(); }) return part_.is_told();
    return ToldOptimizer<O>;
  }
  bool pools() const final { return PoolingOptimizer<O>; }
  std::unique_ptr<PooledStatistic> begin_pool(const PoolPlan& plan) const final {
    if constexpr (ToldOptimizer<O>)
      return std::make_unique<PoolOf<O>>(part_, plan);
    else
      return static_cast<void>(plan), nullptr;
  }
  void gradients_are_noisy(function_ref<bool(std::string_view setting)> is_set) final {
    if constexpr (requires { part_.gradients_are_noisy(is_set); }) part_.gradients_are_noisy(is_set);
  }
};

}  // namespace fedstride
