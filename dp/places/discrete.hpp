#pragma once

#include "dp/places/place.hpp"

namespace fedstride {

/// The coordinator adds discrete Gaussian noise, which costs no more than Gaussian noise (Canonne, Kamath & Steinke 2020).
struct DiscreteNoise final : TrustedPlace {
  static constexpr std::string_view kName = "discrete";
  static constexpr std::string_view kSummary = "the coordinator, exactly on integers";
  bool is_on_integers() const override { return true; }
  std::vector<std::string> assumptions() const override {
    auto list = TrustedPlace::assumptions();
    list.emplace_back("the noise is a discrete Gaussian on the integers of the exact sum");
    return list;
  }
};

}  // namespace fedstride
