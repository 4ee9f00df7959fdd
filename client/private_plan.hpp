#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "client/optim/optimizer.hpp"
#include "dp/accountants/mechanism.hpp"
#include "dp/bounds/bound.hpp"
#include "dp/noise/noise_plan.hpp"

namespace fedstride {

/// The unit that is drawn into a lot, clipped and counted.
enum class LotUnit {
  examples,       ///< each on its own; an example is a record
  some_examples,  ///< the same, but with at most `bound` examples per user; a user is a record
  users,          ///< each with the mean gradient of all its examples; a user is a record
};

/// The numbers of rows and of lot units that a client has.
struct LotSizes {
  std::size_t rows = 0;
  std::size_t units = 0;
  auto operator<=>(const LotSizes&) const = default;
};

/// The rules of training under example-level privacy, the same for every client.
struct PrivateRules {
  Sampling sampling = Sampling::poisson;
  Neighbours neighbours = Neighbours::add_remove;
  int steps = 0;              ///< per epoch; 0: as many as the epoch's lots allow
  int batch = 10;             ///< examples per lot (on average under Poisson sampling)
  double sampling_rate = 0;   ///< share of a client's rows in a lot; 0: batch / rows
  NoisePlanRules noise = {};  ///< its target is replaced by the number of each client's releases in target_epochs
  int target_epochs = 1;      ///< local epochs over which the clip and noise schedules run
  LotUnit unit = LotUnit::examples;
  std::uint64_t bound = 1;  ///< maximum examples per user, for LotUnit::some_examples
  Bound clip_rule = {};     ///< if it counts, noise.clip is the first round's bound
};

/// One client's lots and the noise on its releases, fixed before training: a function of the rules and of the client's
/// number of rows, which is public. The sampler and the accountants both read the plan.
/// If a step reads one lot, an epoch has 1 / rate lots (rounded so that E epochs have ceil(E / rate)); if a step reads two (as in
/// ADADP and Delta-SGD), an epoch has floor(1 / (2 rate)) steps, at least one. If lots are drawn in passes, an epoch has
/// floor(1 / rate) lots. The rules may set the steps per epoch instead.
class PrivatePlan {
 public:
  PrivatePlan(const PrivateRules& rules, const Optimizer& optimizer, std::size_t rows)
      : PrivatePlan(rules, optimizer, LotSizes{rows, rows}) {}
  /// Lots of units other than examples are Poisson-sampled, at the rate computed from the number of rows.
  PrivatePlan(const PrivateRules& rules, const Optimizer& optimizer, const LotSizes& sizes);
  /// A plan of one lot with one example, which load() replaces.
  PrivatePlan() = default;

  Sampling sampling() const { return sampling_; }  ///< `full` if the rate is 1
  double rate() const { return rate_; }
  std::size_t lot() const { return lot_; }             ///< examples per lot, if its size is fixed
  double denominator() const { return denominator_; }  ///< expected number of units in a lot, a public constant
  const NoisePlan& noise() const { return noise_; }
  LotUnit unit() const { return unit_; }
  std::uint64_t bound() const { return bound_; }  ///< maximum number of units per record

  /// The standard deviation of the noise on a lot's count (ReleaseRules::count_noise); 0: lots have no count. Throws Error
  /// (usage) if it is too small for the noise multiplier.
  double count_noise() const;
  bool counts() const { return clip_rule_->counts(); }
  const Bound& clip_rule() const { return clip_rule_; }
  /// The round's bound, the first of the server's numbers, or 0 if the bound in noise() applies. Throws Error (failure) if
  /// counts() but it is no valid bound.
  double round_clip(std::span<const double> told) const;
  /// The server's numbers for the optimizer, those after the bound.
  std::span<const double> beyond_clip(std::span<const double> told) const {
    return told.subspan(counts() && !told.empty() ? 1 : 0);
  }
  /// noise().runs(first, count), but with the round's bound `clip` if the bound follows counts.
  std::vector<ReleaseRun> runs(std::uint64_t first, std::uint64_t count, double clip) const;

  /// The number of lots read by a step of this epoch.
  int lots_per_step(int epoch) const { return epoch < epoch_of_change_ ? first_lots_per_step_ : later_lots_per_step_; }
  /// The number of steps in an epoch (0, 1, ...), and the number of noisy releases in all epochs before it.
  std::uint64_t steps(int epoch) const;
  std::uint64_t releases_before(int epoch) const;

  /// Convert the whole plan, whose lots must consist of examples, to a cereal archive and back. load throws if the archive does
  /// not contain a plan.
  void save(auto& archive) const {
    exchange(archive, *this, noise_.rules());
    archive(std::string(clip_rule_.name()));
    for (const SettingInfo& setting : clip_rule_.part().settings()) archive(std::get<double>(clip_rule_.part().get(setting)));
  }
  void load(auto& archive) {
    NoisePlanRules noise;
    exchange(archive, *this, noise);
    noise_ = NoisePlan(noise);
    std::string rule;
    archive(rule);
    clip_rule_.choose(rule);
    for (const SettingInfo& setting : clip_rule_.part().settings()) {
      double value = 0;
      archive(value);
      clip_rule_.part().set(setting, value);
    }
  }

  /// The maximum number of releases that can include a given record, out of `count` consecutive releases within `epochs` epochs;
  /// 0 if lots are not drawn in passes.
  std::uint64_t passes(std::uint64_t count, int epochs) const;
  /// The accountants' view of `count` releases, starting with number `first`, within `epochs` epochs.
  Spending spending(std::uint64_t first, std::uint64_t count, int epochs) const;

 private:
  std::uint64_t steps_before(int epoch, int lots_per_step) const;
  static void exchange(auto& archive, auto& plan, auto& noise) {
    archive(plan.sampling_, plan.neighbours_, plan.rate_, plan.lot_, plan.denominator_, plan.first_lots_per_step_,
            plan.later_lots_per_step_, plan.epoch_of_change_, plan.steps_, noise.clip, noise.noise_multiplier,
            noise.clip_schedule, noise.noise_schedule, noise.target, noise.gamma, noise.momentum);
  }

  Sampling sampling_ = Sampling::full;
  Neighbours neighbours_ = Neighbours::add_remove;
  double rate_ = 1;
  std::size_t lot_ = 1;
  double denominator_ = 1;
  int first_lots_per_step_ = 1;
  int later_lots_per_step_ = 1;
  int epoch_of_change_ = kNoChange;
  std::uint64_t steps_ = 0;  ///< per epoch; 0: as many as its lots allow
  LotUnit unit_ = LotUnit::examples;
  std::uint64_t bound_ = 1;
  Bound clip_rule_;
  NoisePlan noise_;
};

}  // namespace fedstride
