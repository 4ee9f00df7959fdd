#pragma once

#include "sim/time/modes/staleness.hpp"

namespace fedstride {

struct FedAsyncSettings : AsynchronousSettings {
  double mixing_ = 0.6;
  static constexpr auto kFields =
      fields(AsynchronousSettings::kFields,
             Field{"mixing", &FedAsyncSettings::mixing_,
                   "alpha: weight of a client's model in the server's, multiplied by the staleness weight",
                   Valid{.low = 0, .high = 1, .low_included = false}});
};
/// x <- (1 - a) x + a x_k with a = alpha s(staleness), for one client's model x_k at a time; with over-cap 'wait', x_k and s may
/// be means over several clients. The paper's proximal term is local-objective prox.
struct FedAsync final : AsynchronousMode<FedAsync, FedAsyncSettings> {
  using AsynchronousMode::AsynchronousMode;
  static constexpr std::string_view kName = "fedasync";
  static constexpr std::string_view kSummary = "each client's model is mixed in as it arrives (Xie et al. 2019)";
  int buffer() const override { return 1; }
  double scale(std::uint32_t /*staleness*/) const { return 1; }
  Vector change(Vector mean, const SummedUpdates& updates, const Vector& model) const {
    std::vector<double> begun(model.size());
    for (const SummedUpdates::Update& update : updates.all)
      for (std::size_t i = 0; i < begun.size(); ++i) begun[i] += update.weight / updates.weight * double{update.begun[i]};
    const double a = mixing_ * mean_weight(updates);
    for (std::size_t i = 0; i < model.size(); ++i)
      mean[i] = static_cast<float>(a * (begun[i] + double{mean[i]} - double{model[i]}));
    return mean;
  }
};

}  // namespace fedstride
