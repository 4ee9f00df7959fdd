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

/// SCAFFOLD (Karimireddy et al. 2020, Algorithm 1): a client steps along its gradient - c_k + c, c_k its own control variate and c
/// the server's. After its steps
///   option one   c_k <- its gradient at the model received, over all its rows
///   option two   c_k <- c_k - c + (theta_0 - theta_k) / R_k, R_k its reach: K eta in the paper, in general the sum of the
///                rates of the steps that were kept, with momentum multiplied as a mean gradient is (UnitWeight)
/// and it sends what c_k changed by. The server takes c <- c + sum_S p_k (c_k's change), with the clients' shares p_k of the weight
/// of all clients (1/N in the paper).
struct Scaffold : PlainObjective {
  ScaffoldOption option = ScaffoldOption::two;

  static constexpr std::string_view kName = "scaffold";
  static constexpr std::string_view kSummary = "steps corrected by control variates (SCAFFOLD; Karimireddy et al. 2020)";
  static constexpr auto kFields = std::tuple{
      Field{"scaffold-option", &Scaffold::option,
            "a client's new control variate: its gradient over all rows at the model received (one), or its mean step (two)"}};
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
  static void next(State& state, const ObjectiveRound& round, std::span<float> change, std::span<const float> sent);
  static const Vector& heard(const State& state) { return state.c; }
};

}  // namespace fedstride
