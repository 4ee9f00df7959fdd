#pragma once

#include <string_view>
#include <tuple>

#include "core/serialize.hpp"
#include "core/setting.hpp"
#include "objectives/objective.hpp"

namespace fedstride {

/// FedDyn (Acar et al. 2021, Algorithm 1): a client minimises f_k(theta) - <h_k, theta> + alpha/2 |theta - theta_0|^2 and then
/// takes h_k <- h_k - alpha (theta_k - theta_0). The server keeps h <- h - alpha sum_S p_k (theta_k - theta_0), with the clients'
/// shares p_k of the weight of all (1/N in the paper), and its model is the mean of the clients' less h / alpha.
struct Dynamic : PlainObjective {
  double alpha = 0.01;

  static constexpr std::string_view kName = "dyn";
  static constexpr std::string_view kSummary = "a linear term that clients learn, and a pull (FedDyn; Acar et al. 2021)";
  static constexpr auto kFields = std::tuple{
      Field{"dyn-alpha", &Dynamic::alpha, "FedDyn's alpha: strength of the pull, and rate of the linear term", kPositive}};
  static constexpr bool kKeeps = true;

  struct State {
    Vector h;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(h);
    }
  };

  double pull() const { return alpha; }
  static void fixed(std::span<const float> kept, std::span<const float> heard, std::span<float> out);
  void end(const ObjectiveEnd& round) const;
  static void start(State& state, std::size_t size) { state.h.assign(size, 0); }
  void next(State& state, const ObjectiveRound& round, std::span<float> change, std::span<const float> sent) const;
};

}  // namespace fedstride
