#pragma once

#include <algorithm>
#include <cmath>

#include "core/eigen.hpp"
#include "server/server_optimizer.hpp"

namespace fedstride {

struct LengthRestoringState {
  ChangeSpread spread = {};  ///< the round's spread; like the next two members, not saved
  double rate = 1;
  double cosine = 0;  ///< between the mean change and the model's last change; 0: no last change
  bool has_before = false;
  Vector before;  ///< the model before the last one
  void serialize(auto& archive) { archive(has_before, before); }
};

/// model += gamma D for the mean D of the round's changes D_k, with weights p_k that add up to 1, and
///   q = sum_k p_k |D_k|^2 / |D|^2,   gamma = max(1, min(q / 2, sqrt(q)))
/// With gamma = sqrt(q), the step is as long as the root mean square of the lengths |D_k|: it restores the length that averaging
/// lost to disagreement, and no more. q / 2, the rate of FedExP (server/federated_extrapolation.hpp), is smaller
/// while q is below 4. As in FedExP, the mean of the last two models is evaluated and saved. If D is 0, the model does not
/// change. Under client-level privacy, the mean of |D_k|^2 is released together with D (ReleasedBeside), and D includes its
/// noise, so gamma D is at most as long as D or the clip bound, whichever is longer.
struct LengthRestoring final : ServerOptimizerBase<LengthRestoring, NoSettings, LengthRestoringState> {
  static constexpr std::string_view kName = "restore";
  static constexpr std::string_view kSummary = "restores the length that the mean change lost in averaging; no settings";

  static double rate_for(const ChangeSpread& spread) {
    const double q = spread.mean_square / spread.square_of_mean;
    return std::isfinite(q) ? std::max(1.0, std::min(q / 2, std::sqrt(q))) : 1;
  }

  void start(State& state, std::size_t size) const override {
    state.has_before = false;
    state.before.assign(size, 0);
  }
  bool measures() const override { return true; }
  void measure(State& state, const ChangeSpread& spread) const override {
    state.spread = spread;
    state.rate = rate_for(spread);
  }
  std::vector<NamedNumber> numbers(const State& state) const override {
    return {{"server_rate", state.rate},
            {"client_length", std::sqrt(state.spread.mean_square)},
            {"mean_length", std::sqrt(state.spread.square_of_mean)},
            {"change_cosine", state.cosine}};
  }
  void apply(State& state, Vector& model, const Vector& mean_change) const override {
    state.cosine = 0;
    if (state.has_before) {
      eigen(state.before) = eigen(model) - eigen(state.before);
      const double lengths = l2_norm(view(std::as_const(state.before))) * l2_norm(view(mean_change));
      if (lengths > 0) state.cosine = static_cast<double>(eigen(state.before).dot(eigen(mean_change))) / lengths;
    }
    state.before = model;
    state.has_before = true;
    eigen(model) += static_cast<float>(state.rate) * eigen(mean_change);
  }
  bool answers() const override { return true; }
  Vector answer(const State& state, const Vector& model) const override {
    Vector answer = model;
    if (state.has_before) eigen(answer) = 0.5F * (eigen(model) + eigen(state.before));
    return answer;
  }
};

}  // namespace fedstride
