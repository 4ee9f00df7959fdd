#pragma once

#include "client/optim/schedule.hpp"

namespace fedstride {

inline constexpr std::string_view kSquareBetaHelp = "decay of the mean squared gradient";

struct AdamSettings : Schedule {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  static constexpr Valid kBeta{.low = 0, .high = 1, .high_included = false};
  static constexpr auto kFields = std::tuple_cat(
      Schedule::kFields, std::tuple{Field{"beta1", &AdamSettings::beta1, kBetaHelp, kBeta},
                                    Field{"beta2", &AdamSettings::beta2, kSquareBetaHelp, kBeta},
                                    Field{"adam-epsilon", &AdamSettings::epsilon, "added to the root of the mean square",
                                          Valid{.low = 1e-30, .high = 1e6}}});
};

struct AdamState {
  Vector mean;
  Vector square;
  double mean_bias = 1;    ///< beta1^t
  double square_bias = 1;  ///< beta2^t
  template <class Archive>
  void serialize(Archive& archive) {
    archive(mean, square, mean_bias, square_bias);
  }
};

/// Adam (Kingma & Ba 2015, Algorithm 1, as computed by PyTorch: epsilon outside the root, after bias correction):
///   m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2,  both 0 at the start, t counts steps from 1
///   weights -= rate / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + epsilon)
struct Adam final : ScheduledOptimizer<Adam, AdamSettings, AdamState> {
  Adam() { initial_rate = 1e-3, final_rate = 1e-4; }
  static constexpr std::string_view kName = "adam";
  static constexpr std::string_view kSummary = "Adam (Kingma & Ba 2015)";

  void start(State& state, std::size_t size) const override;
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
