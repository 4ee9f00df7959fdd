#pragma once

#include <string_view>
#include <tuple>

#include "core/serialize.hpp"
#include "core/setting.hpp"
#include "core/vector.hpp"

namespace fedstride {

/// The settings and the state of the three adaptive servers of Reddi et al. 2021 (ICLR), Algorithm 2, as printed:
///   m <- beta1 m + (1 - beta1) D,  v <- by its own rule,  model += rate m / (sqrt(v) + tau)
/// for the mean change D, from m = 0 and v = tau^2. There is no bias correction, and tau stands outside the root: other programs
/// that begin at v = 0, correct m and v, or put tau into the root take other first steps.
struct FederatedAdaptive {
  double server_learning_rate = 0.0316;
  double beta1 = 0.9;
  double tau = 1e-3;

  static constexpr Valid kShare{.low = 0, .high = 1, .high_included = false};
  static constexpr auto kAdaptiveFields = std::tuple{
      Field{"server-learning-rate", &FederatedAdaptive::server_learning_rate,
            "factor on the mean change of a round; 1 is federated averaging", kPositive},
      Field{"server-beta1", &FederatedAdaptive::beta1, "share of the average change that stays, m = beta1 m + (1 - beta1) change",
            kShare},
      Field{"server-tau", &FederatedAdaptive::tau,
            "added to the root of v, in units of a weight's change: the larger, the closer to plain averaging", kPositive}};

  struct State {
    Vector average;  ///< m
    Vector squares;  ///< v
    template <class Archive>
    void serialize(Archive& archive) {
      archive(average, squares);
    }
  };

  void start(State& state, std::size_t size) const;

 protected:
  /// One step, with v <- next_square(v, D^2).
  template <class NextSquare>
  void step(State& state, Vector& model, const Vector& mean_change, NextSquare next_square) const;
};

/// v <- v + D^2. The paper runs it with beta1 = 0.
struct FederatedAdagrad : FederatedAdaptive {
  static constexpr std::string_view kName = "adagrad";
  static constexpr std::string_view kSummary = "adaptive server that adds up squared changes (FedAdagrad; Reddi et al. 2021)";
  static constexpr auto kFields = kAdaptiveFields;
  FederatedAdagrad() { beta1 = 0; }
  void apply(State& state, Vector& model, const Vector& mean_change) const;
};

/// Those whose squares forget.
struct FederatedForgetting : FederatedAdaptive {
  double beta2 = 0.99;
  static constexpr auto kFields = std::tuple_cat(
      kAdaptiveFields,
      std::tuple{Field{"server-beta2", &FederatedForgetting::beta2, "share of v that stays from round to round", kShare}});
};

/// v <- beta2 v + (1 - beta2) D^2
struct FederatedAdam : FederatedForgetting {
  static constexpr std::string_view kName = "adam";
  static constexpr std::string_view kSummary = "adaptive server that averages squared changes (FedAdam; Reddi et al. 2021)";
  void apply(State& state, Vector& model, const Vector& mean_change) const;
};

/// v <- v - (1 - beta2) D^2 sign(v - D^2): grows as Adam's, and falls more slowly.
struct FederatedYogi : FederatedForgetting {
  static constexpr std::string_view kName = "yogi";
  static constexpr std::string_view kSummary = "adaptive server whose squares change additively (FedYogi; Reddi et al. 2021)";
  void apply(State& state, Vector& model, const Vector& mean_change) const;
};

}  // namespace fedstride
