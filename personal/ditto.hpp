#pragma once

#include "personal/personal.hpp"

namespace fedstride {

/// Ditto (Li, Hu, Beirami & Smith 2021, Algorithm 1): beside the federation's training, and without any effect on it, client k keeps
/// a model v_k of its own, at first the model received. In each of its rounds v_k takes steps along
///   grad F_k(v) + lambda (v - theta), theta the model received (the gradient of F_k(v) + lambda/2 |v - theta|^2),
/// with fresh optimiser state. The paper tunes lambda on validation data; 0.1 is among the values it tries. lambda = 0 is training alone, a large one the federation's model.
struct Ditto : SecondPass {
  double lambda = 0.1;

  static constexpr std::string_view kName = "ditto";
  static constexpr std::string_view kSummary =
      "a model of the client's own, pulled towards the one received (Ditto; Li et al. 2021)";
  static constexpr auto kFields = std::tuple_cat(
      kEpochsField, std::tuple{Field{"ditto-lambda", &Ditto::lambda,
                                     "strength of the pull towards the model received, lambda/2 |v - theta|^2; 0: trained alone",
                                     kNonNegative}});
  static constexpr bool kKeeps = true;

  double pull() const { return lambda; }
};

}  // namespace fedstride
