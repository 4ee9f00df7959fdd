#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>

#include "core/serialize.hpp"
#include "core/setting.hpp"
#include "optim/course.hpp"
#include "optim/optimizer.hpp"

namespace fedstride {

enum class RateOf { federation, client };
constexpr auto choice_names(RateOf) { return names("federation", "client"); }

/// ADADP's two half steps with one rate for the whole federation, found from the differences of all clients' half steps. With
/// T steps of a client in the whole run, M clients a round, theta_0 the first weights, t the step:
///   tol_t = min(|theta_0| kappa sqrt(M) sqrt(3 / (2 T)) (1 - t/T), max-tolerance)
///   d1 = -min(eta/2, c/|G1|) G1 at theta,  d2 = -eta/2 G2 at theta + d1,  c = max-step x tol_t / sqrt(2)
///   f = min(1, 2c / |d1 + d2|),  theta <- theta + f (d1 + d2), undone only where that is not finite
///   u = f^2 |d1 - d2|^2 / eta^2
///   eta = tol_t / sqrt(V), V the mean over the rounds so far of the mean of u over all steps of all clients of a round
/// Where the gradients' noise dominates, |d1 - d2|^2 is the square of the noise that a step adds to the weights, so with kappa 1
/// the noise of all steps together moves the averaged weights by |theta_0| / sqrt(2) (docs/adaptive.md derives it). No step is
/// undone for being long: the long ones are those that tell most.
/// Until a V has been told, each client begins with learning-rate and goes at most 10 % a step towards tol_t over the root of its
/// own running mean of u; of that round's u the second half counts.
/// max-tolerance keeps a step of a short run small against what a layer does to its inputs, which is about 1 at the beginning
/// whatever the layer's size; |theta_0| grows with it.
/// A run that goes on beyond its horizon keeps the tolerance of the last step.
struct Pooled {
  double initial_rate = 0.1;
  double kappa = 1;
  double max_step = 4;
  double max_tolerance = 0.3;
  RateOf rate_of = RateOf::federation;
  Course course = Course::falling;
  int horizon = 0;

  static constexpr std::string_view kName = "pooled";
  static constexpr std::string_view kSummary = "one rate for the federation, from the differences of all clients' half steps";
  static constexpr auto kFields = std::tuple{
      Field{"learning-rate", &Pooled::initial_rate, "step size for the mean gradient of a batch; where the first round starts",
            Valid{.low = 0, .high = 1e6, .low_included = false}},
      Field{"kappa", &Pooled::kappa,
            "multiple of the tolerance by which the noise of all steps moves the averaged weights as far as they were from 0",
            Valid{.low = 0, .high = 1e6, .low_included = false}},
      Field{"max-step", &Pooled::max_step,
            "a half step, and half of a step, are cut to this multiple of their expected length at the tolerance",
            Valid{.low = 0, .high = 1e6, .low_included = false}},
      Field{"max-tolerance", &Pooled::max_tolerance, "tolerance at most: the norm of the noise that one step adds to the weights",
            Valid{.low = 0, .high = 1e6, .low_included = false}},
      Field{"rate-of", &Pooled::rate_of, "one rate for all, or each client its own, from its own steps"},
      Field{"course", &Pooled::course, kCourseHelp},
      Field{"horizon", &Pooled::horizon, "rounds over which the tolerance falls; 0: those the run begins with",
            Valid{.low = 0, .high = 1e9}},
  };
  static constexpr int kGradientsPerStep = 2;
  static constexpr bool kKeepsState = true;

  /// The server's state: what it knows of all clients' steps.
  struct Pool {
    ToleranceCourse course;
    double sum = 0;           ///< of the rounds' means of u
    std::uint32_t known = 0;  ///< rounds in that sum
    template <class Archive>
    void serialize(Archive& archive) {
      archive(course, sum, known);
    }
  };
  /// Throws Error (usage) for first weights that are all 0, or a run without steps.
  Pool begin_pool(const PoolPlan& plan) const;
  /// {tolerance at the beginning of the round, at its end, V; 0: not known}
  static constexpr std::size_t kNumbersTold = 3;
  std::array<double, kNumbersTold> tell(const Pool& pool, std::uint32_t round) const;
  /// Takes the sum of u over `count` steps of all clients of a round.
  void take(Pool& pool, double sum, std::uint64_t count) const;

  struct State {
    double learning_rate = 0;  ///< of the next step, while no V is told
    double sum = 0;            ///< of its own u so far
    std::uint64_t count = 0;
    std::array<double, kNumbersTold> told = {};
    template <class Archive>
    void serialize(Archive& archive) {
      archive(learning_rate, sum, count, told);
    }
  };
  struct Scratch {
    Vector kept;  ///< theta: theta + d1 and theta + d1 + d2 take its place
  };

  void start(State& state, std::size_t) const;
  void hear(State& state, std::span<const double> told) const;
  double learning_rate(const State& state, Progress progress) const;
  static void follow(UnitWeight& unit, const StepReport& step) { follow_rate(unit, step, kGradientsPerStep); }
  StepReport step(State& state, Scratch& scratch, Vector& weights, Gradient gradient, Progress progress) const;
};

}  // namespace fedstride
