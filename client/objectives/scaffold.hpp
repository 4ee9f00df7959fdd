#pragma once

#include <algorithm>

#include "client/objectives/local_objective.hpp"
#include "core/choice.hpp"

namespace fedstride {

enum class ScaffoldOption { one, two };
constexpr auto choice_names(ScaffoldOption) { return names("one", "two"); }

enum class ScaffoldControls { weighted, equal };
constexpr auto choice_names(ScaffoldControls) { return names("weighted", "equal"); }

struct ScaffoldSettings {
  ScaffoldOption option = ScaffoldOption::two;
  ScaffoldControls controls = ScaffoldControls::weighted;
  static constexpr auto kFields =
      fields(Field{"scaffold-option", &ScaffoldSettings::option,
                   "a client's new control variate: its full gradient at the model received (one) or its mean gradient over "
                   "the steps (two)"},
             Field{"scaffold-controls", &ScaffoldSettings::controls,
                   "weights in the server's control variate: as in the mean of the models (weighted), or 1/N each (equal)"});
};

/// SCAFFOLD (Karimireddy et al. 2020, Algorithm 1): a client steps along its gradient - c_k + c, where c_k is its own control
/// variate and c is the server's. After its steps:
///   option one   c_k <- its gradient at the model received, over all its rows
///   option two   c_k <- c_k - c + (theta_0 - theta_k) / R_k with the client's reach R_k: K eta in the paper; in general the sum
///                of the learning rates of the steps kept, amplified by momentum just as a mean gradient is (UnitWeight)
/// The client then sends the change of c_k. The server sets c <- c + sum_S q_k (change of c_k):
///   weighted   q_k is the client's share of the total weight, as in the mean of the models; the fixed point is the optimum of
///              the weighted loss
///   equal      q_k = 1/N as in the paper, even if models are weighted by examples, as in NIID-Bench; the fixed point is the
///              optimum of the loss that counts all clients equally. Clients divide the change of c_k by their weight.
struct Scaffold final : ObjectiveBase<Scaffold, ScaffoldSettings, Vector> {
  static constexpr std::string_view kName = "scaffold";
  static constexpr std::string_view kSummary = "steps corrected by control variates (SCAFFOLD; Karimireddy et al. 2020)";

  bool keeps() const override { return true; }
  bool sends() const override { return true; }
  bool hears() const override { return true; }
  bool needs_reach() const override { return option == ScaffoldOption::two; }
  bool needs_start() const override { return option == ScaffoldOption::one; }
  void fixed(std::span<const float> kept, std::span<const float> heard, std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = heard[i] - kept[i];
  }
  void end(const ObjectiveEnd& round) const override {
    take(round);
    if (controls == ScaffoldControls::weighted || round.weight == 1) return;
    const auto inverse = static_cast<float>(1 / round.weight);
    for (float& value : round.sent) value *= inverse;
  }
  std::span<const float> heard(const Vector& c) const override { return view(c); }
  /// With equal controls, `sent` is the sum of the changes of c_k divided by the total weight of the round's clients.
  void next(Vector& c, const ObjectiveRound& round, std::span<float> /*change*/, std::span<const float> sent) const override {
    const auto share = static_cast<float>(controls == ScaffoldControls::equal ? round.weight : round.share);
    for (std::size_t i = 0; i < sent.size(); ++i) c[i] += share * sent[i];
  }

 private:
  /// Sets the new control variate and writes its change to `sent`.
  void take(const ObjectiveEnd& round) const {
    if (option == ScaffoldOption::one) {
      for (std::size_t i = 0; i < round.kept.size(); ++i) {
        round.sent[i] = round.start[i] - round.kept[i];
        round.kept[i] = round.start[i];
      }
      return;
    }
    // If all steps were undone, the client has learned nothing about its gradient.
    if (round.reach <= 0) return static_cast<void>(std::ranges::fill(round.sent, 0.0F));
    const auto inverse = static_cast<float>(1 / round.reach);
    for (std::size_t i = 0; i < round.kept.size(); ++i) {
      round.sent[i] = -round.heard[i] - inverse * round.change[i];
      round.kept[i] += round.sent[i];
    }
  }
};

}  // namespace fedstride
