#pragma once

#include "optim/schedule.hpp"

namespace fedstride {

/// Adam (Kingma & Ba 2015, Algorithm 1, as PyTorch computes it: epsilon outside the root, after the correction):
///   m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2,  both 0 at the start, t counts steps from 1
///   weights -= rate / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + epsilon)
struct Adam : Schedule {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;

  Adam() { initial_rate = 1e-3, final_rate = 1e-4; }

  static constexpr std::string_view kName = "adam";
  static constexpr std::string_view kSummary = "Adam (Kingma & Ba)";
  static constexpr Valid kBeta{.low = 0, .high = 1, .high_included = false};
  static constexpr auto kFields = std::tuple_cat(
      kScheduleFields, std::tuple{Field{"beta1", &Adam::beta1, "share of the mean of the gradients that stays", kBeta},
                                  Field{"beta2", &Adam::beta2, "share of the mean of their squares that stays", kBeta},
                                  Field{"adam-epsilon", &Adam::epsilon, "added to the root of the mean square",
                                        Valid{.low = 1e-30, .high = 1e6}}});
  static constexpr int kGradientsPerStep = 1;
  static constexpr bool kKeepsState = false;

  struct State {
    Vector mean;
    Vector square;
    double mean_bias = 1;    ///< beta1^t
    double square_bias = 1;  ///< beta2^t
    template <class Archive>
    void serialize(Archive& archive) {
      archive(mean, square, mean_bias, square_bias);
    }
  };
  struct Scratch {};

  void start(State& state, std::size_t size) const;
  double learning_rate(const State&, Progress progress) const { return rate(progress); }
  StepReport step(State& state, Scratch&, Vector& weights, Gradient gradient, Progress progress) const;
};

}  // namespace fedstride
