#include "server/cohort.hpp"

namespace fedstride {

std::vector<ClientId> sample_cohort(const Cohort& cohort, std::uint32_t round, std::size_t clients,
                                    const RandomSource& source) {
  return std::visit([&](const auto& kind) { return kind.sample(round, clients, source); }, cohort);
}

double participation_rate(const Cohort& cohort, std::size_t clients) {
  return std::visit([&](const auto& kind) { return kind.rate(clients); }, cohort);
}

}  // namespace fedstride
