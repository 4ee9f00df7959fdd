#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "client/optim/optimizer.hpp"
#include "client/optim/tolerance_schedule.hpp"
#include "core/function_ref.hpp"
#include "core/setting.hpp"

namespace fedstride {

enum class AdadpPreset { ours, paper, authors_code };
constexpr auto choice_names(AdadpPreset) { return names("default", "paper", "authors-code"); }
enum class NextIterate { preset, half_steps, full_step };
constexpr auto choice_names(NextIterate) { return names("preset", "half-steps", "full-step"); }
enum class RateFactor { preset, ratio, root };
constexpr auto choice_names(RateFactor) { return names("preset", "ratio", "root"); }
enum class TooLong { preset, undo, keep, clip };
constexpr auto choice_names(TooLong) { return names("preset", "undo", "keep", "clip"); }
enum class LengthTest { norm, element };
constexpr auto choice_names(LengthTest) { return names("norm", "element"); }
enum class ErrorNorm { relative, plain };
constexpr auto choice_names(ErrorNorm) { return names("relative", "plain"); }

struct AdadpSettings {
  double initial_rate = 0.1;
  AutoNumber tolerance = {.value = 0.1};
  ToleranceSchedule course = ToleranceSchedule::constant;
  AdadpPreset preset = AdadpPreset::ours;
  NextIterate next_iterate = NextIterate::preset;
  RateFactor factor = RateFactor::preset;
  TooLong too_long = TooLong::preset;
  LengthTest test = LengthTest::norm;
  ErrorNorm error_norm = ErrorNorm::relative;
  double safety = 1;
  double minimum_factor = 0.9;
  double maximum_factor = 1.1;
  int adapt_epochs = 0;
  double decay = 0.1;
  bool noisy = false;  ///< gradients contain noise; set by gradients_are_noisy, not a setting

  bool stops_adapting() const { return adapt_epochs > 0; }
  bool has_auto_tolerance() const { return tolerance.is_auto; }
  static constexpr auto kFields = fields(
      Field{"learning-rate", &AdadpSettings::initial_rate, kRateHelp, Valid{.low = 0, .high = 1e6, .low_included = false}}
          .often(),
      Field{"tolerance", &AdadpSettings::tolerance,
            "target error of a step, a distance between weights (default with noise: 1); auto: from the initial weights' norm "
            "and the number of steps",
            kPositive},
      Field{"tolerance-schedule",
            &AdadpSettings::course,
            kToleranceScheduleHelp,
            {},
            Shapes::model,
            &AdadpSettings::has_auto_tolerance},
      Field{"preset", &AdadpSettings::preset,
            "defaults for next-iterate, factor and too-long; with noise, also for tolerance and initialization"},
      Field{"next-iterate", &AdadpSettings::next_iterate, "where an accepted step ends"},
      Field{"factor", &AdadpSettings::factor, "factor on the rate: tolerance/error or its square root"},
      Field{"too-long", &AdadpSettings::too_long,
            "a step whose error is above the tolerance is undone, kept, or shortened in proportion"},
      Field{"test", &AdadpSettings::test,
            "error compared with the tolerance: the norm over all weights, or the largest error of a single weight"},
      Field{"error-norm", &AdadpSettings::error_norm, "error relative to weights above 1 in magnitude, or plain distance"},
      Field{"safety", &AdadpSettings::safety, "multiplies the factor before it is limited",
            Valid{.low = 0, .high = 1, .low_included = false}},
      Field{"minimum-factor", &AdadpSettings::minimum_factor, "smallest factor on the rate in one step",
            Valid{.low = 0, .high = 1, .low_included = false}},
      Field{"maximum-factor", &AdadpSettings::maximum_factor, "largest factor on the rate in one step",
            Valid{.low = 1, .high = 1e6}},
      Field{"adapt-epochs", &AdadpSettings::adapt_epochs,
            "local epochs, over all rounds, after which SGD continues at the rate found; 0: never", Valid{.low = 0, .high = 1e9}},
      Field{"decay", &AdadpSettings::decay, kDecayHelp, kNonNegative, Shapes::model, &AdadpSettings::stops_adapting});
};

struct AdadpState {
  double learning_rate = 0;             ///< of the next step, for mean gradients; kept between 1e-30 and 1e30
  std::array<double, 2> told = {0, 0};  ///< the tolerances at the start and end of the round, if tolerance is auto
  void serialize(auto& archive) { archive(learning_rate, told); }
};

/// ADADP (Koskela & Honkela 2020, Algorithms 1 and 2): one full step is compared with two half steps, and the distance between
/// their ends sets the learning rate eta. G1 is one batch's gradient at theta, G2 the next batch's at theta_half:
///   theta_half = theta - eta/2 G1,  theta_full = theta - eta G1,  theta_hat = theta_half - eta/2 G2
///   err = || (theta_full - theta_hat) / max(1, |theta_full|) ||_2, element by element (Equation 6; plain: Equation 3)
///   accepted if err <= tolerance, otherwise undone; NaN and infinities are never accepted. In Equation 6, err has an index;
///   with test element, a step is accordingly undone only if some single element's error is above the tolerance.
///   eta <- eta min(max(safety tolerance / err, minimum factor), maximum factor), whether accepted or not; NaN counts as a
///   large error. safety is 1 in the paper; solvers of differential equations use less, so that fewer steps are undone.
/// A preset settles what the paper leaves open or the authors' code does differently:
///                 next iterate    factor            an error above the tolerance
///   default       theta_hat       tolerance / err   undoes the step; with noisy gradients, keeps it
///   paper         theta_full      tolerance / err   undoes the step; with noisy gradients, keeps it
///   authors-code  theta_hat       its square root   undoes the step
/// With noise, authors-code starts from the authors' weights, uniform in +-1/sqrt(fan-out) (sim/prepare/setup.cpp), and uses a
/// tolerance of 1/sqrt(10): their code sums the error over ten identical copies of every weight and compares the sum with 1.
/// The paper's tolerances are 0.1 without noise and 1 with it. tolerance auto needs no tuning: with T adapting steps per client
/// and M clients per round, a tolerance of sqrt(M / T) |theta_0|, or sqrt(3) (1 - t/T) times that with a linear schedule, lets
/// the noise of all steps move the averaged weights by no more than |theta_0| (docs/adaptive.md). Each gradient is one noisy
/// release: two per step, whether undone or not. After K = `adapt-epochs` epochs the learning rate found, eta_K, is kept, and
/// plain SGD continues at eta_K / (1 + decay (k - K)) in epoch k = K+1, K+2, ... (the paper's comparison with Adam: K = 50, decay
/// 0.1).
struct Adadp final : OptimizerBase<Adadp, AdadpSettings, AdadpState> {
  static constexpr std::string_view kName = "adadp";
  static constexpr std::string_view kSummary = "adapts its rate to the error of its steps (Koskela & Honkela 2020)";
  static constexpr int kGradientsPerStep = 2;
  static constexpr double kAuthorsTolerance = 0.31622776601683794;

  bool adapts(Progress progress) const { return adapt_epochs == 0 || progress.epoch < adapt_epochs; }
  int gradients_per_step(Progress progress) const override { return adapts(progress) ? kGradientsPerStep : 1; }
  int epoch_of_change() const override { return adapt_epochs == 0 ? kNoChange : adapt_epochs; }
  bool keeps_state() const override { return true; }
  void gradients_are_noisy(function_ref<bool(std::string_view setting)> is_set) override {
    noisy = true;
    if (!is_set("tolerance")) tolerance = {.value = preset == AdadpPreset::authors_code ? kAuthorsTolerance : 1};
  }

  bool is_told() const override { return tolerance.is_auto; }
  std::unique_ptr<PooledStatistic> begin_pool(const PoolPlan& plan) const override {
    return std::make_unique<ToldCourse>(ToleranceCourse::plan(kName, plan, course, 1));
  }
  void hear(State& state, std::span<const double> told) const override {
    if (tolerance.is_auto) take_told(kName, told, state.told);
  }

  void start(State& state, std::size_t /*size*/) const override { state = {.learning_rate = initial_rate}; }
  double learning_rate(const State& state, Progress progress) const override {
    return adapts(progress) ? state.learning_rate : state.learning_rate / (1 + decay * (progress.epoch + 1 - adapt_epochs));
  }
  bool follows() const override { return true; }
  void follow(UnitWeight& unit, const StepReport& step) const override { follow_rate(unit, step, kGradientsPerStep); }
  /// The scratch holds the old weights while the half step and then the next iterate replace them; undoing a step swaps them
  /// back. Padding between parameters is zero in both.
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
