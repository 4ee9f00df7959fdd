#pragma once

#include "client/personal/personal.hpp"

namespace fedstride {

/// Fine-tuning: in every round, the personal model is the model received, trained for some epochs on the client's rows with its
/// plain loss and fresh optimizer state (Yu, Bagdasaryan & Shmatikov 2020).
struct FineTune final : PartBase<PersonalPart, FineTune, SecondPass> {
  static constexpr std::string_view kName = "fine-tune";
  static constexpr std::string_view kSummary = "the model received, fine-tuned on the client's rows; not kept between rounds";

  int epochs() const override { return personal_epochs; }
};

}  // namespace fedstride
