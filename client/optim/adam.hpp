#pragma once

#include <cstddef>
#include <span>

#include "client/optim/schedule.hpp"

namespace fedstride {

inline constexpr std::string_view kSquareBetaHelp = "decay of the mean squared gradient";

struct AdamSettings : Schedule {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  static constexpr Valid kBeta{.low = 0, .high = 1, .high_included = false};
  static constexpr auto kFields = fields(
      Schedule::kFields, Field{"beta1", &AdamSettings::beta1, kBetaHelp, kBeta},
      Field{"beta2", &AdamSettings::beta2, kSquareBetaHelp, kBeta},
      Field{"adam-epsilon", &AdamSettings::epsilon, "added to the root of the mean square", Valid{.low = 1e-30, .high = 1e6}});
};

struct AdamState {
  Vector mean;
  Vector square;
  double mean_bias = 1;    ///< beta1^t
  double square_bias = 1;  ///< beta2^t
  void serialize(auto& archive) { archive(mean, square, mean_bias, square_bias); }

  void begin(std::size_t size) {
    mean.assign(size, 0);
    square.assign(size, 0);
    mean_bias = square_bias = 1;
  }

  /// Call before take().
  void count_step(double beta1, double beta2) {
    mean_bias *= beta1;
    square_bias *= beta2;
  }

  /// Updates both means with the gradient, then weights -= rate / (1 - beta1^t) m / divisor(v), all in float.
  void take(Vector& weights, Gradient gradient, double beta1, double beta2, double rate, auto divisor) {
    const auto mean_stays = static_cast<float>(beta1), mean_joins = static_cast<float>(1 - beta1);
    const auto square_stays = static_cast<float>(beta2), square_joins = static_cast<float>(1 - beta2);
    const auto step = static_cast<float>(rate / (1 - mean_bias));
    gradient(weights.data(), [&](std::size_t offset, std::span<const float> stretch) {
      float* const __restrict w = weights.data() + offset;
      float* const __restrict m = mean.data() + offset;
      float* const __restrict v = square.data() + offset;
      const float* const __restrict g = stretch.data();
      const std::size_t size = stretch.size();
      for (std::size_t i = 0; i < size; ++i) {
        m[i] = mean_stays * m[i] + mean_joins * g[i];
        v[i] = square_stays * v[i] + square_joins * (g[i] * g[i]);
        w[i] -= step * m[i] / divisor(v[i]);
      }
      return 0.0;
    });
  }
};

/// Adam (Kingma & Ba 2015, Algorithm 1, as computed by PyTorch: epsilon outside the root, after bias correction):
///   m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2,  both initially 0; t counts steps from 1
///   weights -= rate / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + epsilon)
struct Adam final : ScheduledOptimizer<Adam, AdamSettings, AdamState> {
  Adam() { initial_rate = 1e-3, final_rate = 1e-4; }
  static constexpr std::string_view kName = "adam";
  static constexpr std::string_view kSummary = "Adam (Kingma & Ba 2015)";

  void start(State& state, std::size_t size) const override;
  StepReport step(State& state, Vector& scratch, Vector& weights, Gradient gradient, Progress progress) const override;
};

}  // namespace fedstride
