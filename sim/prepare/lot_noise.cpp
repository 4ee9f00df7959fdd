#include "sim/prepare/lot_noise.hpp"

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "client/trained_ranges.hpp"

namespace fedstride {

LotNoise lot_noise(const Setup& setup) {
  if (!setup.training.privacy) return {};
  double numbers = 0;
  for (const ParameterRange& range : trained_ranges(setup.model, setup.training.frozen))
    numbers += static_cast<double>(range.size);
  std::map<LotSizes, double> clients;
  for (const LotSizes& sizes : setup.privacy.sizes) ++clients[sizes];
  std::vector<std::pair<std::shared_ptr<const PrivatePlan>, double>> plans;  // in an order independent of addresses
  for (const auto& [sizes, plan] : setup.privacy.plans) plans.emplace_back(plan, clients[sizes]);
  return [plans = std::move(plans), numbers, epochs = setup.training.epochs](std::uint32_t round, double clip) {
    const int first_epoch = static_cast<int>(round - 1) * epochs;
    double lots = 0;
    double noise = 0;
    double gradients = 0;
    for (const auto& [plan, count] : plans) {
      const std::uint64_t first = plan->releases_before(first_epoch);
      for (const ReleaseRun& run : plan->runs(first, plan->releases_before(first_epoch + epochs) - first, clip)) {
        const double multiplier =
            plan->counts() ? noise_beside_count(run.noise_multiplier, plan->count_noise()) : run.noise_multiplier;
        const double weight = count * static_cast<double>(run.count);
        const double square = run.clip * run.clip / plan->denominator();
        lots += weight;
        noise += weight * square * multiplier * multiplier / plan->denominator();
        gradients += weight * square;
      }
    }
    if (lots == 0) return KnownNoise{};
    return KnownNoise{.noise = numbers * noise / lots / 2, .gradients = gradients / lots / 2, .directions = numbers};
  };
}

}  // namespace fedstride
