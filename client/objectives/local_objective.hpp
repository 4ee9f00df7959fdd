#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/part_state.hpp"
#include "core/setting.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// The inputs and outputs of a local objective at the end of a client's round of training. Vectors are as long as the model.
struct ObjectiveEnd {
  std::span<const float> heard = {};   ///< from the server; empty if it sends none
  std::span<const float> change = {};  ///< of the weights, trained minus received
  std::span<const float> start = {};   ///< mean gradient over the client's rows at the model received, if needs_start()
  double start_loss = 0;               ///< mean loss over the same rows, if needs_start()
  double rate = 0;                     ///< learning rate of the round's first step
  double weight = 1;                   ///< the client's weight in the mean: its number of examples, or 1
  double reach = 0;            ///< UnitWeight::moved (client/optim/optimizer.hpp), if needs_reach(); 0: all steps were undone
  std::span<float> kept = {};  ///< the client's own vector: input, and output for its next round
  std::span<float> sent = {};  ///< output: the vector sent to the server with the change
};

/// The factor on a client's change, and a non-negative number to send with it.
struct ObjectiveScale {
  double factor = 1;
  double measure = 0;
};

/// Facts about a round's updates, for the server's part of the objective.
struct ObjectiveRound {
  double share = 1;    ///< total weight in the mean / weight of all clients; under client-level privacy, its public expectation
  double weight = 1;   ///< total weight in the mean / number of all clients
  double measure = 0;  ///< weighted mean of the clients' ObjectiveScale::measure
};

/// A local objective: the terms that clients minimize in addition to their loss f_k, and a state between rounds. A step uses
///   grad f_k(theta) + pull (theta - theta_0) + fixed,
/// where theta_0 is the model received and `fixed` is a vector, constant within the round. The state belongs to the server.
class LocalObjectivePart : public StatefulPart {
 public:
  static PartFamily& family();  ///< client/objectives/local_objectives.cpp has the list

  /// True if a client keeps a private vector between rounds, initially 0.
  virtual bool keeps() const { return false; }
  /// True if a client sends a vector with its change.
  virtual bool sends() const { return false; }
  /// True if the server sends a vector with the model.
  virtual bool hears() const { return false; }
  /// True if clients scale their changes.
  virtual bool scales() const { return false; }
  /// True if the objective reads ObjectiveEnd::reach.
  virtual bool needs_reach() const { return false; }
  /// True if the objective reads ObjectiveEnd::start or start_loss.
  virtual bool needs_start() const { return false; }

  virtual double pull() const { return 0; }  ///< strength of the pull, at least 0
  /// If keeps() or hears(): writes the round's `fixed` vector to `out`.
  virtual void fixed(std::span<const float> /*kept*/, std::span<const float> /*heard*/, std::span<float> /*out*/) const {}
  /// If keeps() or sends(): fills `sent` and replaces `kept`.
  virtual void end(const ObjectiveEnd& /*round*/) const {}
  /// If scales(): returns the factor and the number to send; `change` is not yet scaled.
  virtual ObjectiveScale scale(const ObjectiveEnd& /*round*/) const { return {}; }

  /// The vector to send to every client in the next round; empty unless hears().
  virtual std::span<const float> heard(const PartState& server) const = 0;
  /// Turns a round's mean update (the change, followed by the vector sent with it) into the change that the server optimizer
  /// applies, which has the model's length.
  virtual void next(PartState& server, const ObjectiveRound& round, Vector& mean) const = 0;

  bool has_fixed() const { return keeps() || hears(); }
  /// The length of an update to a model of `size` parameters.
  std::size_t update_size(std::size_t size) const { return sends() ? 2 * size : size; }
};

/// The base of the local objective Self; State is what the server keeps between rounds.
template <class Self, class Settings = NoSettings, class State = NoState>
class ObjectiveBase : public StatefulBase<LocalObjectivePart, Self, Settings, State> {
 public:
  using StatefulBase<LocalObjectivePart, Self, Settings, State>::StatefulBase;

  /// If hears(): the vector to send with the next model.
  virtual std::span<const float> heard(const State& /*server*/) const { return {}; }
  /// Turns the round's mean change, in place, into the change to apply; `sent` is the mean of the vectors sent, or empty.
  virtual void next(State& /*server*/, const ObjectiveRound& /*round*/, std::span<float> /*change*/,
                    std::span<const float> /*sent*/) const {}

  std::span<const float> heard(const PartState& server) const final { return heard(this->own(server)); }
  void next(PartState& server, const ObjectiveRound& round, Vector& mean) const final {
    const std::size_t size = this->sends() ? mean.size() / 2 : mean.size();
    const std::span<float> all = view(mean);
    next(this->own(server), round, all.first(size), all.subspan(size));
    mean.resize(size);
  }
};

/// The local objective chosen for a run; by default only the clients' loss.
using LocalObjective = Chosen<LocalObjectivePart>;

}  // namespace fedstride
