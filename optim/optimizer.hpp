#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/gradient.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// How far training has come, for schedules: whole local epochs finished before this one, all rounds counted.
/// A function of the round number, not of any state: a restarted client knows it too.
struct Progress {
  int epoch = 0;
};

/// What one step did.
struct StepReport {
  double learning_rate = 0;  ///< the one the step was taken with, mean-gradient unit
  bool accepted = true;      ///< false: undone; the weights are what they were, bit for bit
  double error = 0;          ///< ADADP's error estimate, 0 for the others
};

/// epoch_of_change() of an optimiser whose steps always read as many batches.
inline constexpr int kNoChange = std::numeric_limits<int>::max();

/// A local optimiser. It asks for gradients; it knows neither data nor model.
///   kName, kSummary, kFields       core/setting.hpp
///   kGradientsPerStep              batches one step reads
/// and, where that changes once on the way,
///   gradients_per_step(progress)   batches a step reads then
///   epoch_of_change()              the first epoch in which it is another number than in the first; kNoChange: none
///   gradients_are_noisy(is_set)    called before training if the gradients carry noise (differential privacy); is_set(name)
///                                  is whether a person chose that setting
///   kKeepsState                    whether a client keeps its state from round to round unless told otherwise
///   State                          what a client carries; State{} and start(state, size) is a fresh client. Cereal's
///                                  serialize() is complete: save, load, step equals step.
///   Scratch                        vectors a step needs but nobody carries; owned by a thread, reused by every client
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
  { optimizer.start(state, std::size_t{}) };
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
