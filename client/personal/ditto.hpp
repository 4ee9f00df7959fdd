#pragma once

#include "client/personal/personal.hpp"

namespace fedstride {

struct DittoSettings : SecondPass {
  double lambda = 0.1;
  static constexpr auto kFields =
      fields(SecondPass::kFields,
             Field{"ditto-lambda", &DittoSettings::lambda,
                   "strength of the pull toward the model received, lambda/2 |v - theta|^2; 0: no pull", kNonNegative});
};

/// Ditto (Li, Hu, Beirami & Smith 2021, Algorithm 1): without affecting the federation's training, client k keeps its own model
/// v_k, initially the model received. In each of its rounds, v_k takes steps with
///   grad F_k(v) + lambda (v - theta), the gradient of F_k(v) + lambda/2 |v - theta|^2, where theta is the model received,
/// with fresh optimizer state. The paper tunes lambda on validation data; 0.1 is among the values it tries. With lambda 0, the
/// client trains only on its own data; a large lambda gives the federation's model.
struct Ditto final : PartBase<PersonalPart, Ditto, DittoSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "ditto";
  static constexpr std::string_view kSummary = "a personal model pulled toward the model received (Ditto; Li et al. 2021)";

  bool keeps() const override { return true; }
  int epochs() const override { return personal_epochs; }
  double pull() const override { return lambda; }
};

}  // namespace fedstride
