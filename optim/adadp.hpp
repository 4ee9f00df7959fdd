#pragma once

#include <tuple>

#include "core/function_ref.hpp"
#include "core/setting.hpp"
#include "optim/optimizer.hpp"

namespace fedstride {

enum class AdadpPreset { ours, paper, authors_code };
constexpr auto choice_names(AdadpPreset) { return names("default", "paper", "authors-code"); }
enum class NextIterate { preset, half_steps, full_step };
constexpr auto choice_names(NextIterate) { return names("preset", "half-steps", "full-step"); }
enum class RateFactor { preset, ratio, root };
constexpr auto choice_names(RateFactor) { return names("preset", "ratio", "root"); }
enum class Discard { preset, on, off };
constexpr auto choice_names(Discard) { return names("preset", "on", "off"); }
enum class ErrorNorm { relative, plain };
constexpr auto choice_names(ErrorNorm) { return names("relative", "plain"); }

/// ADADP (Koskela & Honkela 2020, Algorithms 1 and 2): two half steps check a full one, and how far apart
/// they end sets the learning rate eta. G1 is the gradient of one batch at theta, G2 that of the next at the half step:
///   theta_half = theta - eta/2 G1,  theta_full = theta - eta G1,  theta_hat = theta_half - eta/2 G2
///   err = || (theta_full - theta_hat) / max(1, |theta_full|) ||_2, element by element (Equation 6; plain: Equation 3)
///   accepted if err <= tolerance, else undone; NaN and infinities are never accepted
///   eta <- eta min(max(safety tolerance / err, minimum factor), maximum factor), accepted or not; NaN counts as a large
///   error. safety is 1 in the paper; solvers of differential equations take less, so that fewer steps are undone.
/// Points that the text leaves open, or where the authors' code differs, follow a preset:
///                 next iterate    factor            an error above the tolerance
///   default       theta_hat       tolerance / err   undoes the step; with noise on the gradients it stands
///   paper         theta_full      tolerance / err   undoes the step; with noise on the gradients it stands
///   authors-code  theta_hat       its square root   undoes the step
/// The paper's tolerances are 0.1 without noise and 1 with it. Each gradient is one noisy release: two a step, undone or
/// not. After `adapt-epochs` K epochs the rate found so far, eta_K, is kept and plain SGD continues at
/// eta_K / (1 + decay (k - K)) in epoch k = K+1, K+2, ... (the paper's comparison with Adam: K = 50, decay 0.1).
struct Adadp {
  double initial_rate = 0.1;
  double tolerance = 0.1;
  AdadpPreset preset = AdadpPreset::ours;
  NextIterate next_iterate = NextIterate::preset;
  RateFactor factor = RateFactor::preset;
  Discard discard = Discard::preset;
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
      Field{"tolerance", &Adadp::tolerance, "error of a step aimed at, a distance between weights; unless set, 1 with noise",
            kPositive},
      Field{"preset", &Adadp::preset, "values of next-iterate, factor and discard unless set"},
      Field{"next-iterate", &Adadp::next_iterate, "where an accepted step ends"},
      Field{"factor", &Adadp::factor, "the rate is multiplied by tolerance/error or by its root"},
      Field{"discard", &Adadp::discard, "whether a step whose error is above the tolerance is undone"},
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

  struct State {
    double learning_rate = 0;  ///< of the next step, mean-gradient unit; kept between 1e-30 and 1e30
    template <class Archive>
    void serialize(Archive& archive) {
      archive(learning_rate);
    }
  };
  /// One scratch serves models of one layout: the gaps between parameters are zero in it as in the weights.
  struct Scratch {
    Vector half;  ///< the half step, then in place the next iterate; swapped with the weights when accepted
  };

  void gradients_are_noisy(function_ref<bool(std::string_view setting)> is_set) {
    noisy = true;
    if (!is_set("tolerance")) tolerance = 1;  // the paper's, with noise
  }
  void start(State& state, std::size_t) const { state.learning_rate = initial_rate; }
  bool adapts(Progress progress) const { return adapt_epochs == 0 || progress.epoch < adapt_epochs; }
  int gradients_per_step(Progress progress) const { return adapts(progress) ? kGradientsPerStep : 1; }
  int epoch_of_change() const { return adapt_epochs == 0 ? kNoChange : adapt_epochs; }
  double learning_rate(const State& state, Progress progress) const {
    return adapts(progress) ? state.learning_rate : state.learning_rate / (1 + decay * (progress.epoch + 1 - adapt_epochs));
  }
  StepReport step(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const;
};

}  // namespace fedstride
