#pragma once

#include <string_view>
#include <tuple>

#include "core/choice.hpp"
#include "core/serialize.hpp"
#include "core/setting.hpp"
#include "objectives/objective.hpp"

namespace fedstride {

enum class ScaffoldOption { one, two };
constexpr auto choice_names(ScaffoldOption) { return names("one", "two"); }

enum class ScaffoldControls { weighted, equal };
constexpr auto choice_names(ScaffoldControls) { return names("weighted", "equal"); }

/// SCAFFOLD (Karimireddy et al. 2020, Algorithm 1): a client steps along its gradient - c_k + c, c_k its own control variate and c
/// the server's. After its steps
///   option one   c_k <- its gradient at the model received, over all its rows
///   option two   c_k <- c_k - c + (theta_0 - theta_k) / R_k, R_k its reach: K eta in the paper, in general the sum of the
///                rates of the steps that were kept, with momentum multiplied as a mean gradient is (UnitWeight)
/// and it sends what c_k changed by. The server takes c <- c + sum_S q_k (c_k's change):
///   weighted   q_k the clients' shares of the weight of all clients, as in the mean of the models; the fixed point is the optimum of
///              the weighted loss
///   equal      q_k = 1/N, as in the paper, also where models are averaged by examples, as in NIID-Bench; the fixed point is the
///              optimum of the loss in which every client counts as one. A client sends its change divided by its weight.
struct Scaffold : PlainObjective {
  ScaffoldOption option = ScaffoldOption::two;
  ScaffoldControls controls = ScaffoldControls::weighted;

  static constexpr std::string_view kName = "scaffold";
  static constexpr std::string_view kSummary = "steps corrected by control variates (SCAFFOLD; Karimireddy et al. 2020)";
  static constexpr auto kFields = std::tuple{
      Field{"scaffold-option", &Scaffold::option,
            "a client's new control variate: its gradient over all rows at the model received (one), or its mean step (two)"},
      Field{"scaffold-controls", &Scaffold::controls,
            "the server's control variate: the mean of the clients' weighted as the mean of the models is, or 1/N of each"}};
  static constexpr bool kKeeps = true;
  static constexpr bool kSends = true;
  static constexpr bool kHears = true;

  struct State {
    Vector c;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(c);
    }
  };

  bool needs_reach() const { return option == ScaffoldOption::two; }
  bool needs_start() const { return option == ScaffoldOption::one; }
  static void fixed(std::span<const float> kept, std::span<const float> heard, std::span<float> out);
  void end(const ObjectiveEnd& round) const;
  static void start(State& state, std::size_t size) { state.c.assign(size, 0); }
  void next(State& state, const ObjectiveRound& round, std::span<float> change, std::span<const float> sent) const;
  static const Vector& heard(const State& state) { return state.c; }

 private:
  void take(const ObjectiveEnd& round) const;
};

}  // namespace fedstride
