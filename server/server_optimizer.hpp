#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/part.hpp"
#include "core/pooled_statistic.hpp"
#include "core/task.hpp"
#include "core/vector.hpp"
#include "objectives/local_objective.hpp"
#include "server/accumulator.hpp"
#include "server/server_schedule.hpp"

namespace fedstride {

/// Makes the next model out of the mean change of a round (Reddi et al. 2021's ServerOpt).
///   kName, kSummary, kFields           core/part.hpp
///   State                              its state from round to round. Cereal's serialize() is complete: save, load,
///                                      apply equals apply. Its length depends on the number of parameters alone.
///   start(state, size)                 fresh state for `size` parameters
///   apply(state, model, mean_change)   one step in place. A round that has no mean change makes none.
/// and, if its step depends on how far single clients went,
///   measure(state, mean_square)        called before apply with sum_k p_k |change_k|^2; refused where clients are protected
/// or if its state's length changes from round to round
///   kStateLengthChanges
/// or if what it gives away is not the model that the next round begins from,
///   answer(state, model)               the model that is evaluated and saved
template <class T>
concept ServerOpt = requires(const T optimizer, typename T::State state, Vector model, const Vector mean_change) {
  { T::kName } -> std::convertible_to<std::string_view>;
  { T::kSummary } -> std::convertible_to<std::string_view>;
  T::kFields;
  optimizer.start(state, std::size_t{});
  optimizer.apply(state, model, mean_change);
};

/// One that measures the changes of single clients.
template <class T>
concept MeasuringServerOpt = ServerOpt<T> && requires(const T optimizer, typename T::State state) {
  optimizer.measure(state, double{});
};

/// One that gives another model away than it goes on from.
template <class T>
concept AnsweringServerOpt = ServerOpt<T> && requires(const T optimizer, const typename T::State state, const Vector model) {
  { optimizer.answer(state, model) } -> std::same_as<Vector>;
};

template <ServerOpt T>
class ServerOptimizerOf;  // server/server_optimizer_of.hpp

/// The abstract interface of a server optimiser with its state.
class ServerAtWork {
 public:
  virtual ~ServerAtWork() = default;
  virtual void measure(double mean_square) = 0;
  virtual void apply(Vector& model, const Vector& mean_change) = 0;
  virtual std::optional<Vector> answer(const Vector& model) const = 0;  ///< nothing: the model itself
  virtual std::string save() const = 0;
  virtual void load(const std::string& bytes) = 0;
};

/// The abstract interface of a server optimiser.
class ServerOptimizerPart : public Part {
 public:
  static PartFamily& family();  ///< server/server_optimizers.cpp has the list
  template <ServerOpt T>
  using Of = ServerOptimizerOf<T>;

  /// A fresh state, for the first round of a model of `size` parameters.
  virtual std::unique_ptr<ServerAtWork> start(std::size_t size) const = 0;
  /// True if it measures the changes of single clients.
  virtual bool measures() const = 0;
  /// True if it gives another model away than it goes on from.
  virtual bool answers() const = 0;
};

/// A server optimiser that has been chosen; the default is federated averaging.
using ServerOptimizer = Chosen<ServerOptimizerPart>;

/// A server optimiser with its state, and the server's sides of the local objective and of the local optimiser, as far as these
/// have one. A checkpoint holds all of them.
class Server {
 public:
  /// A fresh state, for the first round of a model of `size` parameters.
  Server(const ServerOptimizer& kind, std::size_t size, const LocalObjective& objective = {},
         std::unique_ptr<PooledStatistic> pool = nullptr)
      : name_(kind.name()),
        at_work_(kind->start(size)),
        update_size_(objective->update_size(size)),
        objective_(objective->begin(size)),
        pool_(std::move(pool)) {}

  /// Numbers of an update: the change of the model, and behind it what the local objective sends beside it.
  std::size_t update_size() const { return update_size_; }
  /// The numbers that every client of that round is told besides the model, and the vector that it is sent beside it.
  std::vector<double> tell(std::uint32_t round) const { return pool_ ? pool_->tell(round) : std::vector<double>{}; }
  std::span<const float> beside() const { return objective_->heard(); }

  /// From now on it knows the last loss that each of so many clients has told.
  void remember_losses(std::size_t clients);
  std::span<const double> losses() const { return losses_; }

  /// Takes what the reports say of a round's clients that are in the mean update, in order of clients, so that the bits of their
  /// sums do not depend on who answered first.
  void take(std::span<const ClientReport> reports, const SumRules& rules);
  void set_schedule(const ServerSchedule& schedule) { schedule_ = schedule; }
  /// Makes the next model out of the mean update of that round.
  void apply(Vector& model, Vector mean_update, std::uint32_t round = 1);

  /// The model to evaluate and to save, after a round that ended in `model`.
  Vector answer(const Vector& model) const { return at_work_->answer(model).value_or(model); }

  /// The state as bytes, and back. load throws Error (failure) if the bytes are not of this optimiser and model.
  std::string save() const;
  void load(const std::string& bytes);

 private:
  std::vector<std::string> states() const;

  std::string name_;
  std::unique_ptr<ServerAtWork> at_work_;
  std::size_t update_size_;
  std::unique_ptr<ObjectiveAtServer> objective_;
  std::unique_ptr<PooledStatistic> pool_;
  ServerSchedule schedule_ = {};
  ObjectiveRound round_ = {};
  std::vector<double> losses_ = {};  ///< by client, NaN if none is known; empty unless they are remembered
};

}  // namespace fedstride
