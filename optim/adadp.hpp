#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>

#include "core/function_ref.hpp"
#include "core/serialize.hpp"
#include "core/setting.hpp"
#include "optim/course.hpp"
#include "optim/optimizer.hpp"

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

/// ADADP (Koskela & Honkela 2020, Algorithms 1 and 2): two half steps check a full one, and how far apart
/// they end sets the learning rate eta. G1 is the gradient of one batch at theta, G2 that of the next at the half step:
///   theta_half = theta - eta/2 G1,  theta_full = theta - eta G1,  theta_hat = theta_half - eta/2 G2
///   err = || (theta_full - theta_hat) / max(1, |theta_full|) ||_2, element by element (Equation 6; plain: Equation 3)
///   accepted if err <= tolerance, else undone; NaN and infinities are never accepted. Equation 6 gives err an index: with
///   test element, a step is undone only where the error of a single element is above the tolerance.
///   eta <- eta min(max(safety tolerance / err, minimum factor), maximum factor), accepted or not; NaN counts as a large
///   error. safety is 1 in the paper; solvers of differential equations take less, so that fewer steps are undone.
/// Points that the text leaves open, or where the authors' code differs, follow a preset:
///                 next iterate    factor            an error above the tolerance
///   default       theta_hat       tolerance / err   undoes the step; with noise on the gradients it stands
///   paper         theta_full      tolerance / err   undoes the step; with noise on the gradients it stands
///   authors-code  theta_hat       its square root   undoes the step
///   authors-code, with noise, begins at the authors' weights, uniform in +-1/sqrt(fan-out) (run/setup.cpp), with a tolerance of
///   1/sqrt(10): their code sums the error over ten identical copies of every weight and compares that with 1
/// The paper's tolerances are 0.1 without noise and 1 with it. tolerance auto needs no trial: with T adapting steps of a client
/// and M clients a round, tolerance sqrt(M / T) |theta_0|, or that times sqrt(3) (1 - t/T) with course falling, lets the noise of
/// all steps move the averaged weights by no more than |theta_0| (docs/adaptive.md). Each gradient is one noisy release: two a step, undone or
/// not. After `adapt-epochs` K epochs the rate found so far, eta_K, is kept and plain SGD continues at
/// eta_K / (1 + decay (k - K)) in epoch k = K+1, K+2, ... (the paper's comparison with Adam: K = 50, decay 0.1).
struct Adadp {
  double initial_rate = 0.1;
  AutoNumber tolerance = {.value = 0.1};
  Course course = Course::constant;
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
  bool noisy = false;  ///< the gradients carry noise: follows from how training is set up, not a setting

  static constexpr std::string_view kName = "adadp";
  static constexpr std::string_view kSummary = "finds its rate from the error of its steps (Koskela & Honkela)";
  static constexpr auto kFields = std::tuple{
      Field{"learning-rate", &Adadp::initial_rate, "step size for the mean gradient of a batch; where it starts",
            Valid{.low = 0, .high = 1e6, .low_included = false}},
      Field{"tolerance", &Adadp::tolerance,
            "error of a step aimed at, a distance between weights; unless set, 1 with noise; auto: from the first weights' norm "
            "and the number of steps",
            kPositive},
      Field{"course", &Adadp::course, kCourseHelp},
      Field{"preset", &Adadp::preset,
            "values of next-iterate, factor and too-long unless set; with noise of tolerance and initialisation, too"},
      Field{"next-iterate", &Adadp::next_iterate, "where an accepted step ends"},
      Field{"factor", &Adadp::factor, "the rate is multiplied by tolerance/error or by its root"},
      Field{"too-long", &Adadp::too_long,
            "what becomes of a step whose error is above the tolerance: undone, kept, or cut in proportion"},
      Field{"test", &Adadp::test, "the error it is compared by: the norm over all weights, or the largest of single ones"},
      Field{"error-norm", &Adadp::error_norm, "error relative to weights above 1, or plain distance"},
      Field{"safety", &Adadp::safety, "the factor is multiplied by this before it is limited",
            Valid{.low = 0, .high = 1, .low_included = false}},
      Field{"minimum-factor", &Adadp::minimum_factor, "the rate falls at most by this factor a step",
            Valid{.low = 0, .high = 1, .low_included = false}},
      Field{"maximum-factor", &Adadp::maximum_factor, "the rate grows at most by this factor a step",
            Valid{.low = 1, .high = 1e6}},
      Field{"adapt-epochs", &Adadp::adapt_epochs, "local epochs after which SGD continues at the rate found; 0: never",
            Valid{.low = 0, .high = 1e9}},
      Field{"decay", &Adadp::decay, "after adapt-epochs: rate / (1 + epochs since then x decay)", kNonNegative},
  };
  static constexpr int kGradientsPerStep = 2;
  static constexpr bool kKeepsState = true;
  static constexpr double kAuthorsTolerance = 0.31622776601683794;

  struct State {
    double learning_rate = 0;             ///< of the next step, mean-gradient unit; kept between 1e-30 and 1e30
    std::array<double, 2> told = {0, 0};  ///< the tolerance at the round's beginning and end, if it is auto
    template <class Archive>
    void serialize(Archive& archive) {
      archive(learning_rate, told);
    }
  };
  /// One scratch serves models of one layout: the gaps between parameters are zero in it as in the weights.
  struct Scratch {
    Vector kept;  ///< the weights as they were: the half step and the next iterate take their place, an undone step gives it back
  };

  void gradients_are_noisy(function_ref<bool(std::string_view setting)> is_set) {
    noisy = true;
    if (!is_set("tolerance")) tolerance = {.value = preset == AdadpPreset::authors_code ? kAuthorsTolerance : 1};
  }

  using Pool = ToleranceCourse;  ///< the server's side of tolerance auto; nothing is pooled
  bool is_told() const { return tolerance.is_auto; }
  Pool begin_pool(const PoolPlan& plan) const { return ToleranceCourse::plan(kName, plan, course, 1); }
  std::array<double, 2> tell(const Pool& pool, std::uint32_t round) const { return pool.of_round(round); }
  void hear(State& state, std::span<const double> told) const {
    if (tolerance.is_auto) take_told(kName, told, state.told);
  }

  void start(State& state, std::size_t) const { state = {.learning_rate = initial_rate}; }
  bool adapts(Progress progress) const { return adapt_epochs == 0 || progress.epoch < adapt_epochs; }
  int gradients_per_step(Progress progress) const { return adapts(progress) ? kGradientsPerStep : 1; }
  int epoch_of_change() const { return adapt_epochs == 0 ? kNoChange : adapt_epochs; }
  double learning_rate(const State& state, Progress progress) const {
    return adapts(progress) ? state.learning_rate : state.learning_rate / (1 + decay * (progress.epoch + 1 - adapt_epochs));
  }
  static void follow(UnitWeight& unit, const StepReport& step) { follow_rate(unit, step, kGradientsPerStep); }
  StepReport step(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const;
};

}  // namespace fedstride
