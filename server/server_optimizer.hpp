#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/objectives/local_objective.hpp"
#include "core/part_state.hpp"
#include "core/pooled_statistic.hpp"
#include "core/running_statistics.hpp"
#include "core/task.hpp"
#include "core/vector.hpp"
#include "dp/bounds/bound.hpp"
#include "server/accumulator.hpp"
#include "server/server_schedule.hpp"

namespace fedstride {

/// The spread of a round's changes D_k, as aggregated, with weights p_k that add up to 1.
struct ChangeSpread {
  double mean_square = 0;     ///< sum_k p_k |D_k|^2
  double square_of_mean = 0;  ///< |sum_k p_k D_k|^2
};

/// Computes the next model from the mean change of a round (ServerOpt in Reddi et al. 2021). A round without a mean change takes
/// no step.
class ServerOptimizerPart : public StatefulPart {
 public:
  static PartFamily& family();  ///< server/server_optimizers.cpp has the list

  /// Takes one step, in place.
  virtual void apply(PartState& state, Vector& model, const Vector& mean_change) const = 0;

  /// True if the step depends on the norms of single clients' changes.
  virtual bool measures() const { return false; }
  /// If measures(): called before apply.
  virtual void measure(PartState& state, const ChangeSpread& spread) const = 0;

  /// The numbers that determined the last step; not part of the saved state.
  virtual std::vector<NamedNumber> numbers(const PartState& state) const = 0;

  /// True if the model to evaluate and save differs from the one the next round starts from.
  virtual bool answers() const { return false; }
  /// If answers(): the model to evaluate and save.
  virtual Vector answer(const PartState& state, const Vector& model) const = 0;
};

/// The base of the server optimizer Self.
template <class Self, class Settings = NoSettings, class State = NoState>
class ServerOptimizerBase : public StatefulBase<ServerOptimizerPart, Self, Settings, State> {
 public:
  using StatefulBase<ServerOptimizerPart, Self, Settings, State>::StatefulBase;

  virtual void apply(State& state, Vector& model, const Vector& mean_change) const = 0;
  virtual void measure(State& /*state*/, const ChangeSpread& /*spread*/) const {}
  virtual std::vector<NamedNumber> numbers(const State& /*state*/) const { return {}; }
  virtual Vector answer(const State& /*state*/, const Vector& model) const { return model; }

  void apply(PartState& state, Vector& model, const Vector& mean_change) const final {
    apply(this->own(state), model, mean_change);
  }
  void measure(PartState& state, const ChangeSpread& spread) const final { measure(this->own(state), spread); }
  std::vector<NamedNumber> numbers(const PartState& state) const final { return numbers(this->own(state)); }
  Vector answer(const PartState& state, const Vector& model) const final { return answer(this->own(state), model); }
};

/// Help for server-learning-rate, shared by the server optimizers that have it.
inline constexpr std::string_view kServerRateHelp = "factor on the mean change of a round; 1 is federated averaging";

/// The server optimizer chosen for a run; federated averaging by default.
using ServerOptimizer = Chosen<ServerOptimizerPart>;

/// A server optimizer with its state, and the server sides, if any, of the local objective and the local optimizer. A checkpoint
/// contains the state of each.
class Server {
 public:
  /// Starts with a fresh state, for the first round of a model of `size` parameters.
  Server(const ServerOptimizer& kind, std::size_t size, const LocalObjective& objective = {},
         std::unique_ptr<PooledStatistic> pool = nullptr)
      : optimizer_(kind),
        state_(started_state(*kind, size)),
        objective_(objective),
        objective_state_(started_state(*objective, size)),
        update_size_(objective->update_size(size)),
        pool_(std::move(pool)) {}

  /// The length of an update: the change of the model followed by the vector that the local objective sends.
  std::size_t update_size() const { return update_size_; }
  /// The numbers (tell) and the vector (beside) sent with the model to every client in that round.
  std::vector<double> tell(std::uint32_t round) const {
    std::vector<double> told = pool_ ? pool_->tell(round) : std::vector<double>{};
    if (bounds_lots_) told.insert(told.begin(), bounds_->bound());
    return told;
  }
  std::span<const float> beside() const { return objective_->heard(*objective_state_); }

  /// From now on, keeps the last reported loss of each of `clients` clients.
  void remember_losses(std::size_t clients);
  std::span<const double> losses() const { return losses_; }

  /// Processes the round's reports, which must be in order of clients, so that the bits of sums do not depend on which client
  /// answered first.
  /// `secured`, if present, contains sums over these clients of numbers that are not in their reports.
  void take(std::uint32_t round, std::span<const ClientReport> reports, const SumRules& rules,
            const std::optional<RoundTotals>& secured = {});
  const RoundTotals& totals() const { return totals_; }  ///< totals of the last round
  void prolong(std::uint32_t rounds) {
    if (pool_) pool_->prolong(rounds);
  }
  void set_schedule(const ServerSchedule& schedule) { schedule_ = schedule; }
  /// Running statistics of the model, which are averaged whatever the server optimizer does with the rest.
  void set_statistics(std::vector<RunningStatistics> statistics) { statistics_ = std::move(statistics); }
  /// From now on, uses adaptive bounds, which follow counts of updates or of examples' gradients; clients receive the bound on
  /// gradients. A checkpoint contains the round's bound.
  void bound_updates(BoundCourse bounds) { bounds_ = std::move(bounds); }
  void bound_lots(BoundCourse bounds) {
    bounds_ = std::move(bounds);
    bounds_lots_ = true;
    tell_pool();
  }
  /// This round's bound on updates; 0: the rules' bound applies.
  double clip() const { return bounds_lots_ ? 0 : counted_clip(); }
  /// This round's adaptive bound, on updates or on examples' gradients; 0: none.
  double counted_clip() const { return bounds_ ? bounds_->bound() : 0; }
  /// From now on, releases use this correlated noise, for sums of `size` numbers. A checkpoint contains the state of the noise.
  void correlate_noise(const Correlation& correlation, std::size_t size) { noise_.emplace(correlation, size); }
  CorrelatedNoise* noise() { return noise_ ? &*noise_ : nullptr; }
  /// Computes the next model from that round's mean update and the numbers that CentralRelease::beside releases with it.
  void apply(Vector& model, Vector mean_update, std::uint32_t round = 1, const SumRules& rules = {});

  /// The numbers that determined the last round's step, from the server optimizer and the local optimizer's server side.
  std::vector<NamedNumber> numbers() const;
  /// The model to evaluate and save after a round that ended with `model`.
  Vector answer(const Vector& model) const { return optimizer_->answer(*state_, model); }

  /// Converts the state to bytes and back. load throws Error (failure) if the bytes belong to another optimizer or model.
  std::string save() const;
  void load(const std::string& bytes);

 private:
  std::vector<std::string> states() const;
  void tell_pool() {
    if (pool_ && bounds_lots_) pool_->clip_lots(bounds_->bound());
  }

  ServerOptimizer optimizer_;
  std::unique_ptr<PartState> state_;
  LocalObjective objective_;
  std::unique_ptr<PartState> objective_state_;
  std::size_t update_size_;
  std::unique_ptr<PooledStatistic> pool_;
  std::vector<RunningStatistics> statistics_ = {};
  ServerSchedule schedule_ = {};
  RoundTotals totals_ = {};
  ObjectiveRound round_ = {};
  std::optional<BoundCourse> bounds_ = {};
  bool bounds_lots_ = false;
  double mean_square_ = 0;           ///< the round's ChangeSpread::mean_square
  double all_weights_ = 0;           ///< of all clients, added up in the first round
  std::vector<double> losses_ = {};  ///< by client, NaN if unknown; empty unless remember_losses was called
  std::optional<CorrelatedNoise> noise_ = {};
};

}  // namespace fedstride
