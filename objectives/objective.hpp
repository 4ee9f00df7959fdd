#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

#include "core/vector.hpp"

namespace fedstride {

/// A client's round of training, at its end. Vectors are as long as the model.
struct ObjectiveEnd {
  std::span<const float> heard = {};   ///< from the server; empty if it sends none
  std::span<const float> change = {};  ///< of the weights, trained minus received
  std::span<const float> start = {};   ///< mean gradient of the client's rows at the model received, if asked for
  double start_loss = 0;               ///< its mean loss there, likewise
  double rate = 0;                     ///< of its first step
  double weight = 1;                   ///< of the client in the mean: its examples, or 1
  double reach = 0;                    ///< UnitWeight::moved (optim/optimizer.hpp), if asked for; 0: no step was kept
  std::span<float> kept = {};          ///< the client's own vector: in, and out for its next round
  std::span<float> sent = {};          ///< out: what goes to the server beside the change
};

/// A client's change is sent times `factor`, and with it `measure`, a number from 0.
struct ObjectiveScale {
  double factor = 1;
  double measure = 0;
};

/// Facts on a round's updates, for the server's side.
struct ObjectiveRound {
  double share = 1;    ///< weight of the clients in the mean by that of all; under client-level privacy the public expected one
  double weight = 1;   ///< of the clients in the mean, by the number of all clients
  double measure = 0;  ///< weighted mean of theirs
};

/// A local objective: what clients minimise besides their loss f_k, and what remains of that from round to round. A step sees
///   grad f_k(theta) + pull (theta - theta_0) + fixed,
/// theta_0 the model received, fixed a vector that does not change within the round.
///   kName, kSummary, kFields   core/part.hpp
///   kKeeps       a client keeps a vector from round to round, 0 before its first one; nobody else sees it
///   kSends       a client sends a vector beside its change
///   kHears       the server sends a vector beside the model
///   kScales      a client's change is scaled: scale(round), with `change` as it was
///   pull()       from 0
///   needs_reach(), needs_start()       which of ObjectiveEnd's it reads
///   fixed(kept, heard, out)            if it keeps or hears: the fixed vector
///   end(round)                         if it keeps or sends: fills `sent`, replaces `kept`
///   State, start(state, size), serialize   the server's state from round to round; its length depends on `size` alone
///   next(state, round, change, sent)   makes the round's mean change and the mean of what was sent, which may be empty, into the
///                                      change that the server optimiser applies
///   heard(state)                       if it hears: the vector to send with the next model
template <class T>
concept LocalObjectiveRule = requires(const T objective, typename T::State state, Vector vector, std::span<float> change,
                                      const ObjectiveRound round) {
  { T::kName } -> std::convertible_to<std::string_view>;
  { T::kSummary } -> std::convertible_to<std::string_view>;
  T::kFields;
  { T::kKeeps } -> std::convertible_to<bool>;
  { T::kSends } -> std::convertible_to<bool>;
  { T::kHears } -> std::convertible_to<bool>;
  { T::kScales } -> std::convertible_to<bool>;
  { objective.pull() } -> std::convertible_to<double>;
  { objective.needs_reach() } -> std::convertible_to<bool>;
  { objective.needs_start() } -> std::convertible_to<bool>;
  objective.start(state, std::size_t{});
  objective.next(state, round, change, change);
};

/// The parts that most objectives do without.
struct PlainObjective {
  static constexpr bool kKeeps = false;
  static constexpr bool kSends = false;
  static constexpr bool kHears = false;
  static constexpr bool kScales = false;

  struct State {
    template <class Archive>
    void serialize(Archive&) {}
  };

  static double pull() { return 0; }
  static bool needs_reach() { return false; }
  static bool needs_start() { return false; }
  static void start(State&, std::size_t) {}
  static void next(State&, const ObjectiveRound&, std::span<float> /*change*/, std::span<const float> /*sent*/) {}
};

}  // namespace fedstride
