#pragma once

#include <memory>
#include <string>

#include "core/part.hpp"
#include "core/state_bytes.hpp"
#include "objectives/objective.hpp"

namespace fedstride {

template <LocalObjectiveRule T>
class LocalObjectiveOf;

/// The server's side of a local objective, with its state.
class ObjectiveAtServer {
 public:
  virtual ~ObjectiveAtServer() = default;
  /// The vector for every client of the next round; empty if it hears none.
  virtual std::span<const float> heard() const = 0;
  /// Makes a round's mean update, the change and behind it what was sent, into the change to apply; `mean` is then as long as
  /// the model.
  virtual void next(const ObjectiveRound& round, Vector& mean) = 0;
  virtual std::string save() const = 0;
  virtual void load(const std::string& bytes) = 0;
};

/// The abstract interface of a local objective; objectives/objective.hpp documents each function.
class LocalObjectivePart : public Part {
 public:
  static PartFamily& family();  ///< objectives/local_objectives.cpp has the list
  template <LocalObjectiveRule T>
  using Of = LocalObjectiveOf<T>;

  virtual bool keeps() const = 0;
  virtual bool sends() const = 0;
  virtual bool hears() const = 0;
  virtual bool scales() const = 0;
  virtual ObjectiveScale scale(const ObjectiveEnd& round) const = 0;
  virtual double pull() const = 0;
  virtual bool needs_reach() const = 0;
  virtual bool needs_start() const = 0;
  /// True if a step's gradient has a fixed vector.
  virtual bool has_fixed() const = 0;
  virtual void fixed(std::span<const float> kept, std::span<const float> heard, std::span<float> out) const = 0;
  virtual void end(const ObjectiveEnd& round) const = 0;
  /// Numbers of an update to a model of `size`.
  std::size_t update_size(std::size_t size) const { return sends() ? 2 * size : size; }
  /// A fresh server's side for a model of `size` parameters.
  virtual std::unique_ptr<ObjectiveAtServer> begin(std::size_t size) const = 0;
};

/// A local objective T as a LocalObjectivePart. For the list of local objectives, and for adding one.
template <LocalObjectiveRule T>
class LocalObjectiveOf final : public PartOf<LocalObjectivePart, LocalObjectiveOf<T>, T> {
  using Base = PartOf<LocalObjectivePart, LocalObjectiveOf<T>, T>;

  struct AtServer final : ObjectiveAtServer {
    AtServer(const T& part, std::size_t parameters) : objective(part), size(parameters) { objective.start(state, size); }
    std::span<const float> heard() const final {
      if constexpr (T::kHears) return view(objective.heard(state));
      return {};
    }
    void next(const ObjectiveRound& round, Vector& mean) final {
      const std::span<float> all = view(mean);
      objective.next(state, round, all.first(size), all.subspan(size));
      mean.resize(size);
    }
    std::string save() const final { return state_bytes(state); }
    void load(const std::string& bytes) final { load_state(state, bytes, "local-objective '" + std::string(T::kName) + "'"); }

    T objective;
    std::size_t size;
    typename T::State state = {};
  };

 public:
  using Base::Base;
  bool keeps() const final { return T::kKeeps; }
  bool sends() const final { return T::kSends; }
  bool hears() const final { return T::kHears; }
  bool scales() const final { return T::kScales; }
  ObjectiveScale scale(const ObjectiveEnd& round) const final {
    if constexpr (T::kScales) return this->part_.scale(round);
    return {};
  }
  double pull() const final { return this->part_.pull(); }
  bool needs_reach() const final { return this->part_.needs_reach(); }
  bool needs_start() const final { return this->part_.needs_start(); }
  bool has_fixed() const final { return T::kKeeps || T::kHears; }
  void fixed(std::span<const float> kept, std::span<const float> heard, std::span<float> out) const final {
    if constexpr (T::kKeeps || T::kHears) this->part_.fixed(kept, heard, out);
  }
  void end(const ObjectiveEnd& round) const final {
    if constexpr (T::kKeeps || T::kSends) this->part_.end(round);
  }
  std::unique_ptr<ObjectiveAtServer> begin(std::size_t size) const final { return std::make_unique<AtServer>(this->part_, size); }
};

/// A local objective that has been chosen; the default is the clients' loss alone.
using LocalObjective = Chosen<LocalObjectivePart>;

}  // namespace fedstride
