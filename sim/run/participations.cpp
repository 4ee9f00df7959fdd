#include "sim/run/participations.hpp"

#include <algorithm>
#include <utility>

#include "sim/run/virtual_time.hpp"

namespace fedstride {

Participations::Participations(const Setup& setup)
    : terms_(make_time_terms(setup)), schedule_(terms_), of_client_(setup.clients.row_counts.size()) {}

std::uint64_t Participations::most(std::uint32_t version) {
  while (most_.size() <= version) {
    std::uint64_t most = most_.back();
    std::vector<ClientId> clients;
    for (const Flight& task : schedule_.next().tasks) {
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

bool counts_participations(const Setup& setup) { return setup.privacy.client && setup.configuration.mode->is_asynchronous(); }

}  // namespace fedstride
