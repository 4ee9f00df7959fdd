#pragma once

#include "personal/personal.hpp"

namespace fedstride {

/// Fine-tuning: the personal model is the model received after some epochs on the client's own rows under its plain loss, with fresh
/// optimiser state,
/// made anew in every round (Yu, Bagdasaryan & Shmatikov 2020).
struct FineTune : SecondPass {
  static constexpr std::string_view kName = "fine-tune";
  static constexpr std::string_view kSummary = "the model received, trained on the client's own rows; nothing is kept";
  static constexpr auto kFields = kEpochsField;
};

}  // namespace fedstride
