#include "sim/run/participations.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "sim/run/virtual_time.hpp"

namespace fedstride {

Participations::Participations(const Setup& setup)
    : terms_(make_time_terms(setup)),
      schedule_(setup.configuration.mode->schedule(terms_)),
      of_client_(setup.clients.row_counts.size()) {}

std::uint64_t Participations::most(std::uint32_t version) {
  while (most_.size() <= version) {
    std::uint64_t most = most_.back();
    std::vector<ClientId> clients;
    for (const Flight& task : schedule_->next().tasks) {
      most = std::max<std::uint64_t>(most, ++of_client_[task.client]);
      clients.push_back(task.client);
    }
    std::ranges::sort(clients);
    most_.push_back(most);
    clients_.push_back(std::move(clients));
  }
  return most_[version];
}

const std::vector<ClientId>& Participations::clients(std::uint32_t version) {
  most(version);
  return clients_[version];
}

void check_separation(const Setup& setup) {
  const std::uint64_t asked = minimum_separation(setup.configuration);
  if (asked == 1 || !counts_participations(setup)) return;
  TimeTerms terms = make_time_terms(setup);
  const auto objection = [&](std::uint64_t separation) -> std::string {
    terms.separation = separation;
    const auto schedule = setup.configuration.mode->schedule(terms);
    try {
      for (int version = 0; version < setup.configuration.rounds; ++version) schedule->next();
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::usage) return error.what();
      throw;
    }
    return {};
  };
  const std::string why = objection(asked);
  if (why.empty()) return;
  // This many consecutive versions can have disjoint clients.
  const std::uint64_t in_a_row = terms.clients / static_cast<std::size_t>(setup.configuration.mode->buffer());
  std::uint64_t valid = std::min(asked - 1, in_a_row);
  while (!objection(valid).empty()) valid /= 2;  // 1 is always valid
  throw usage_error(why + "; valid: " + std::to_string(valid) + ", or more clients, or a smaller buffer");
}

bool counts_participations(const Setup& setup) { return setup.privacy.client && setup.configuration.mode->is_asynchronous(); }

}  // namespace fedstride
