#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "client/optim/optimizer.hpp"
#include "client/optim/tolerance_schedule.hpp"
#include "core/setting.hpp"

namespace fedstride {

enum class RateOf { federation, client };
constexpr auto choice_names(RateOf) { return names("federation", "client"); }
enum class PooledRule { current, version_0_3 };
constexpr auto choice_names(PooledRule) { return names("current", "0.3"); }

struct PooledSettings {
  double initial_rate = 0.1;
  double kappa = 1;
  double max_step = 4;
  AutoNumber max_tolerance = {.value = 0.3, .is_auto = true};
  RateOf rate_of = RateOf::federation;
  ToleranceSchedule course = ToleranceSchedule::linear;
  int horizon = 0;
  PooledRule rule = PooledRule::current;

  static constexpr auto kFields = fields(
      Field{"learning-rate", &PooledSettings::initial_rate, kRateHelp, Valid{.low = 0, .high = 1e6, .low_included = false}},
      Field{"kappa", &PooledSettings::kappa,
            "scales the tolerance; at 1, the noise of all steps moves the average by about the initial weights' norm",
            Valid{.low = 0, .high = 1e6, .low_included = false}},
      Field{"max-step", &PooledSettings::max_step,
            "upper bound on a half step, and on half of the whole step, relative to the expected length at the tolerance",
            Valid{.low = 0, .high = 1e6, .low_included = false}},
      Field{"max-tolerance", &PooledSettings::max_tolerance,
            "upper bound on the tolerance, the norm of the noise that one step adds to the weights; auto: from the number of "
            "directions in which that noise points",
            Valid{.low = 0, .high = 1e6, .low_included = false}},
      Field{"rate-of", &PooledSettings::rate_of, "one rate for all clients, or one per client from its own steps"},
      Field{"tolerance-schedule", &PooledSettings::course, kToleranceScheduleHelp},
      Field{"horizon", &PooledSettings::horizon,
            "rounds over which the tolerance falls; 0: the rounds planned at the start of the run", Valid{.low = 0, .high = 1e9}},
      Field{"pooled-rule", &PooledSettings::rule, "the current rule, or that of version 0.3, to reproduce its results"});
};

/// The number of values that the server sends: |theta_0| kappa sqrt(M) sqrt(3 / (2 T)), max-tolerance, s at the round's start, s
/// at its end, and V (0: unknown).
inline constexpr std::size_t kPooledNumbers = 5;

struct PooledState {
  double learning_rate = 0;  ///< of the next step, while V is unknown
  double sum = 0;            ///< of the client's own u in this round, or in all rounds if V is unknown
  std::uint64_t count = 0;
  std::uint64_t steps = 0;  ///< in this round
  double kept = 0;          ///< squared norm of the difference in the scratch, for comparison with the next step; 0: none
  std::array<double, kPooledNumbers> told = {};
  void serialize(auto& archive) { archive(learning_rate, sum, count, steps, kept, told); }
};

/// This factor times k^(1/4) bounds the norm of a step in k directions, in Pooled's max-tolerance auto and in
/// server-schedule noise.
inline constexpr double kStepInOneDirection = 0.21;

/// The server's side: the statistics of all clients' steps.
struct PooledSteps final : PooledStatistic {
  ToleranceCourse course;
  double first_rate = 0.1;
  RateOf rate_of = RateOf::federation;
  PooledRule rule = PooledRule::current;
  double sum = 0;             ///< of the rounds' means of u, less the known noise
  std::uint32_t counted = 0;  ///< rounds in that sum
  double rate = 0;            ///< learning rate at the start of the last round; 0: none
  double alignment = 0;       ///< sum of the rounds' mean squared cosines
  std::uint32_t aligned = 0;
  bool finds_limit = false;
  bool has_horizon = false;
  LotNoise noise = {};   ///< empty: unknown
  double clip = 0;       ///< this round's bound on gradients, if it follows counts; 0: the planned one
  double last_clip = 0;  ///< that of the round before

  std::vector<double> tell(std::uint32_t round) const override;
  void take(std::uint32_t round, const ClientReport& sums) override;
  void prolong(std::uint32_t rounds) override;
  /// The tolerance, its bound and V at the start of the round; the round's mean u and number of directions k, if known.
  std::vector<NamedNumber> numbers() const override;
  void clip_lots(double next) override { last_clip = std::exchange(clip, next); }
  void save(std::ostream& bytes) const override {
    write_archive(bytes, course, sum, counted, rate, alignment, aligned);
    if (clip > 0) write_archive(bytes, last_clip);
  }
  void load(std::istream& bytes) override {
    read_archive(bytes, course, sum, counted, rate, alignment, aligned);
    if (clip > 0) read_archive(bytes, last_clip);
  }

 private:
  double limit(const KnownNoise& known, double gradients) const;
  double signal(const KnownNoise& known) const;
  KnownNoise known_noise(std::uint32_t round) const { return noise ? noise(round, clip) : KnownNoise{}; }
  std::vector<NamedNumber> numbers_ = {};
};

/// ADADP's two half steps, with one learning rate for the whole federation, computed from the differences between the half steps
/// of all clients.
/// For T steps per client in the whole run, M clients per round, initial weights theta_0, step t and s = 1 - t/T:
///   tol_t = min(|theta_0| kappa sqrt(M) sqrt(3 / (2 T)) s, max-tolerance min(1, 2 s))
///   d1 = -min(eta/2, c/|G1|) G1 at theta,  d2 = -eta/2 G2 at theta + d1,  c = max-step x tol_t / sqrt(2)
///   f = min(1, 2c / |d1 + d2|),  theta <- theta + f (d1 + d2), undone only if the result is not finite
///   u = f^2 |d1 - d2|^2 / eta^2
///   V = max(mean of u, (tol / (2 eta'))^2) at a round's start, where u is averaged over all steps of all clients in a round and
///   then over the rounds so far, and eta' is the rate at the previous round's start; V = (tol / learning-rate)^2 in the first
///   round
///   eta = tol_t / sqrt(max(V, mean of the client's own u in this round))
/// If gradient noise dominates, |d1 - d2| is the norm of the noise that a step adds to the weights, so at kappa 1 the noise of
/// all steps together moves the averaged weights by |theta_0| / sqrt(2) (derived in docs/adaptive.md). No step is undone for
/// being long, since long steps are the most informative. From round to round the rate at most doubles.
/// max-tolerance keeps the noise of a short run's steps small compared with a layer's gain, a singular value that is initially
/// about 1 for any layer size. The larger k is, the less noise of norm tol in k directions raises a singular value, so auto is
/// 0.21 k^(1/4), where 1/k is the mean over rounds of the mean squared cosine between the differences d1 - d2 of a client's
/// consecutive steps; it is 0.3 until a round has such pairs.
/// If noise is added to the gradients (KnownNoise: mean square N in d directions, to which gradients add at most G),
///   V = N + max(0, the same mean of u, less N); N + G in the first round. The rate's doubling limit then applies only to the
///   part of V above N.
///   1/k = min(the mean squared cosine, (N^2/d + 2 N R/d + R^2)/(N + R)^2), at least 1/d, with R = V - N; the second term is the
///   cosine if all of R is in one direction. max-tolerance auto is then 0.3 k^(1/4)
/// A prolonged run continues like a run planned for its new length; beyond a set horizon, it keeps the last step's tolerance.
/// With rate-of client, V stays unknown: each client starts at learning-rate and changes its rate by at most 10 % per step toward
/// tol_t over the root of its own running mean of u. pooled-rule 0.3 does the same in the first round, of which only the second
/// half enters V. It has neither the doubling limit nor the client's own mean, and it bounds the tolerance by 0.3 at each round's
/// start and end.
struct Pooled final : OptimizerBase<Pooled, PooledSettings, PooledState> {
  using OptimizerBase::OptimizerBase;
  static constexpr std::string_view kName = "pooled";
  static constexpr std::string_view kSummary = "one adaptive rate for the federation, from all clients' half steps";

  int gradients_per_step(Progress /*progress*/) const override { return 2; }
  bool keeps_state() const override { return true; }

  bool is_told() const override { return true; }
  bool pools() const override { return true; }
  /// Throws Error (usage) if all initial weights are 0 or the run has no steps.
  std::unique_ptr<PooledStatistic> begin_pool(const PoolPlan& plan) const override;
  void hear(State& state, std::span<const double> told) const override;

  void start(State& state, std::size_t size) const override;
  double learning_rate(const State& state, Progress progress) const override;
  bool follows() const override { return true; }
  void follow(UnitWeight& unit, const StepReport& step) const override { follow_rate(unit, step, 2); }
  /// The scratch holds theta while theta + d1 and then theta + d1 + d2 replace it in the weights. After theta, it holds the
  /// difference d1 - d2 that is kept for the next step.
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
