#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "core/gradient.hpp"
#include "core/pooled_statistic.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// The progress of training, for schedules: whole local epochs finished before this one, over all rounds.
/// A function of the round number, not of any state, so a restarted client knows it too.
struct Progress {
  int epoch = 0;
  double of_round = 0;  ///< share of the client's steps in this round that are behind it, 0 to below 1
};

/// The result of one step.
struct StepReport {
  double learning_rate = 0;                                     ///< used in this step, mean-gradient unit
  bool accepted = true;                                         ///< false: undone; the weights are what they were, bit for bit
  double error = 0;                                             ///< ADADP's error estimate, 0 for the others
  double kept = 1;                                              ///< factor on learning_rate where a step was shortened; 0: undone
  double statistic = std::numeric_limits<double>::quiet_NaN();  ///< of this step, for the server to pool; NaN: none
};

/// A weight that a constant gradient of 1 moves, against the pull of the local objective, through the same steps as the real ones
/// take: it shows by how much a client's mean gradient was multiplied. With SGD that is the sum of the rates, and in general eta
/// |a|_1 (Wang et al. 2020, Section 4).
struct UnitWeight {
  double pull = 0;
  double moved = 0;     ///< the reach
  double momentum = 0;  ///< for the optimiser
  double bias = 1;      ///< likewise
  double gradient() const { return 1 - pull * moved; }
};

/// One step of gradients that enter with rates alone, in so many equal parts.
inline void follow_rate(UnitWeight& unit, const StepReport& step, int parts) {
  for (int i = 0; i < parts; ++i) unit.moved += step.learning_rate * step.kept / parts * unit.gradient();
}

/// epoch_of_change() of an optimiser whose steps always read the same number of batches.
inline constexpr int kNoChange = std::numeric_limits<int>::max();

/// A local optimiser. It asks for gradients; it knows neither data nor model.
///   kName, kSummary, kFields       core/setting.hpp
///   kGradientsPerStep              batches one step reads
/// and, if that number changes once during training,
///   gradients_per_step(progress)   batches a step reads at that point
///   epoch_of_change()              the first epoch whose number differs from the first epoch's; kNoChange: none
///   gradients_are_noisy(is_set)    called before training if the gradients carry noise (differential privacy); is_set(name)
///                                  is true if the user chose that setting
/// and, if the server tells all clients something with the model (core/pooled_statistic.hpp),
///   Pool                           the server's state; cereal's serialize() is complete
///   begin_pool(plan)               a fresh one. Throws Error (usage) if the plan is impossible
///   tell(pool, round)              an array of up to kMaxTold numbers for every client of that round
///   hear(state, told)              a client's side of tell, called before its first step of a round; empty: it was told nothing
///   is_told()                      if it is told something only under some settings: whether it is
///   take(pool, sum, count)         if the server pools a statistic of all clients' steps (StepReport::statistic): the sum of a
///                                  round's, of `count` steps
/// and, if its steps are linear in its gradients,
///   follow(unit, step)             takes the step that was reported with a UnitWeight, whose gradients are all the same. An optimiser
///                                  with momentum follows from the first step of a round on, as one with fresh state would
/// and, if it has weight decay,
///   weight_decay                   a member: the factor of the weights that is added to their gradient
/// and of each
///   kKeepsState                    true if a client keeps its state from round to round by default
///   State                          a client's state; State{} and start(state, size) is a fresh client. Cereal's
///                                  serialize() is complete: save, load, step equals step.
///   Scratch                        temporary vectors of a step; owned by a thread, reused by every client
///   start(state, size)             fresh state for `size` parameters, reusing memory
///   step(state, scratch, weights, gradient, progress)   one step in place
///   learning_rate(state, progress) the rate the next step will use
template <class T>
concept LocalOptimizer = requires(const T optimizer, typename T::State state, typename T::Scratch scratch, Vector weights,
                                  Gradient gradient, Progress progress) {
  { T::kName } -> std::convertible_to<std::string_view>;
  { T::kSummary } -> std::convertible_to<std::string_view>;
  T::kFields;
  { T::kGradientsPerStep } -> std::convertible_to<int>;
  { T::kKeepsState } -> std::convertible_to<bool>;
  {optimizer.start(state, std::size_t{})};
  { optimizer.step(state, scratch, weights, gradient, progress) } -> std::same_as<StepReport>;
  { optimizer.learning_rate(state, progress) } -> std::convertible_to<double>;
};

/// An optimiser that has a side at the server.
template <class T>
concept ToldOptimizer = LocalOptimizer<T> &&
    requires(const T optimizer, typename T::State state, typename T::Pool pool, std::span<const double> told) {
  { optimizer.begin_pool(PoolPlan{}) } -> std::same_as<typename T::Pool>;
  { optimizer.tell(pool, std::uint32_t{}).size() } -> std::convertible_to<std::size_t>;
  optimizer.hear(state, told);
};
/// One whose server pools a statistic, too.
template <class T>
concept PoolingOptimizer = ToldOptimizer<T> && requires(const T optimizer, typename T::Pool pool) {
  optimizer.take(pool, double{}, std::uint64_t{});
};

/// One that says by how much it multiplies a mean gradient.
template <class T>
concept FollowedOptimizer = LocalOptimizer<T> && requires(const T optimizer, UnitWeight unit, const StepReport step) {
  optimizer.follow(unit, step);
};

/// Batches a step of this optimiser reads.
template <LocalOptimizer O>
int gradients_per_step(const O& optimizer, Progress progress) {
  if constexpr (requires { optimizer.gradients_per_step(progress); })
    return optimizer.gradients_per_step(progress);
  else
    return O::kGradientsPerStep;
}
template <LocalOptimizer O>
int epoch_of_change(const O& optimizer) {
  if constexpr (requires { optimizer.epoch_of_change(); })
    return optimizer.epoch_of_change();
  else
    return kNoChange;
}

}  // namespace fedstride
