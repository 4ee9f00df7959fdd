#pragma once

#include <algorithm>
#include <cmath>

#include "core/choice.hpp"
#include "core/eigen.hpp"
#include "dp/noise/client_release.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

enum class ExtrapolationAnswer { mean_of_two, last };
constexpr auto choice_names(ExtrapolationAnswer) { return names("mean-of-two", "last"); }

struct FederatedExtrapolationSettings {
  double epsilon = 1e-3;
  ExtrapolationAnswer result = ExtrapolationAnswer::mean_of_two;
  static constexpr auto kFields = fields(Field{"server-epsilon", &FederatedExtrapolationSettings::epsilon,
                                               "added to the squared norm of the mean change, to bound the rate", kPositive},
                                         Field{"server-answer", &FederatedExtrapolationSettings::result,
                                               "model to evaluate and save: the mean of the last two, or the last"});
};

struct FederatedExtrapolationState {
  ChangeSpread spread = {};  ///< the round's spread; like the next member, not saved
  double rate = 1;
  bool has_before = false;
  Vector before;  ///< the model before the last one
  void serialize(auto& archive) { archive(has_before, before); }
};

/// FedExP (Jhunjhunwala, Wang & Joshi 2023, Equation 3): model += rate D with
///   rate = max(1, sum_k p_k |D_k|^2 / (2 (|D|^2 + epsilon)))
/// for the changes D_k of the round's clients, their weights p_k (1/|S| in the paper) and their mean D: the less the clients
/// agree, the longer the step along the mean. As in the paper, since the last two models tend to lie on either side of the
/// optimum, their mean is evaluated and saved (or the last model: server-answer).
struct FederatedExtrapolation final
    : ServerOptimizerBase<FederatedExtrapolation, FederatedExtrapolationSettings, FederatedExtrapolationState> {
  using ServerOptimizerBase::ServerOptimizerBase;
  static constexpr std::string_view kName = "fedexp";
  static constexpr std::string_view kSummary = "takes longer steps the less clients agree (FedExP; Jhunjhunwala et al. 2023)";

  void start(State& state, std::size_t size) const override {
    state.has_before = false;
    state.before.assign(size, 0);
  }
  bool measures() const override { return true; }
  void measure(State& state, const ChangeSpread& spread) const override { state.spread = spread; }
  void apply(State& state, Vector& model, const Vector& mean_change) const override {
    state.before = model;
    state.has_before = true;
    state.rate = std::max(1.0, state.spread.mean_square / (2 * (state.spread.square_of_mean + epsilon)));
    if (std::isfinite(state.rate)) eigen(model) += static_cast<float>(state.rate) * eigen(mean_change);
  }
  std::vector<NamedNumber> numbers(const State& state) const override { return {{"server_rate", state.rate}}; }
  bool answers() const override { return true; }
  Vector answer(const State& state, const Vector& model) const override {
    Vector answer = model;
    if (result == ExtrapolationAnswer::mean_of_two && state.has_before)
      eigen(answer) = 0.5F * (eigen(model) + eigen(state.before));
    return answer;
  }
};

}  // namespace fedstride
