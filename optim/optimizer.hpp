#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/gradient.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// The progress of training, for schedules: whole local epochs finished before this one, over all rounds.
/// A function of the round number, not of any state, so a restarted client knows it too.
struct Progress {
  int epoch = 0;
};

/// The result of one step.
struct StepReport {
  double learning_rate = 0;  ///< used in this step, mean-gradient unit
  bool accepted = true;      ///< false: undone; the weights are what they were, bit for bit
  double error = 0;          ///< ADADP's error estimate, 0 for the others
};

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
