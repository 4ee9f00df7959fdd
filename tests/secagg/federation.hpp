// A small federation with fixed keys, and honest attempts at a round, step by step.
#pragma once

#include <deque>
#include <numeric>
#include <string>
#include <vector>

#include "core/hash.hpp"
#include "secagg/client.hpp"
#include "secagg/coordinator.hpp"

namespace fedstride::test {

inline secagg::Secret secret_of(const std::string& text) { return secagg::Secret(Hash().text(text).digest()); }

inline secagg::Secret signing_key(ClientId client) { return secret_of("signing key " + std::to_string(client)); }

inline secagg::Session session_of(unsigned clients, const secagg::Plan& plan, std::uint64_t length = 8, unsigned bits = 128) {
  static std::vector<secagg::Bytes32> keys;
  while (keys.size() < clients) keys.push_back(secagg::verifying_key(signing_key(static_cast<ClientId>(keys.size()))));
  secagg::Session session{.round = 7, .model = secret_of("model").bytes, .plan = plan, .length = length, .bits = bits};
  for (ClientId client = 0; client < clients; ++client) session.cohort.push_back({client, keys[client]});
  return session;
}

/// Inputs of both signs that differ by client and component.
inline secagg::Ring input_of(const secagg::Session& session, ClientId client) {
  secagg::Ring input(session.length, session.bits);
  for (std::size_t i = 0; i < input.size(); ++i)
    input.set(i, (static_cast<__int128>(client + 1) << (session.bits / 2)) * (i % 2 == 0 ? 1 : -1) + static_cast<int>(i) - 3);
  return input;
}

inline secagg::Ring central_sum(const secagg::Session& session, const std::vector<ClientId>& clients) {
  secagg::Ring sum(session.length, session.bits);
  for (const ClientId client : clients) sum.add(input_of(session, client));
  return sum;
}

/// An attempt that a test carries out as far as it likes.
struct Attempt {
  explicit Attempt(secagg::Session of, const std::string& name = "first") : session(std::move(of)), coordinator(session) {
    for (const secagg::Member& member : session.cohort)
      clients.emplace_back(session, member.client, signing_key(member.client),
                           secret_of(name + " attempt of " + std::to_string(member.client)));
  }

  std::vector<ClientId> everyone() const {
    std::vector<ClientId> all(clients.size());
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }
  const secagg::Roster& advertise() {
    for (secagg::Client& client : clients) coordinator.take(client.advertise());
    return roster = coordinator.roster();
  }
  void share() {
    advertise();
    for (secagg::Client& client : clients) coordinator.take(client.share(roster));
    coordinator.end_sharing();
  }
  const secagg::Survivors& mask(const std::vector<ClientId>& who) {
    share();
    for (const ClientId client : who)
      coordinator.take(masked[client] = clients[client].mask(coordinator.delivery(client), input_of(session, client)));
    return survivors = coordinator.survivors();
  }
  const secagg::Agreements& agree(const std::vector<ClientId>& who) {
    mask(who);
    for (const ClientId client : who) coordinator.take(clients[client].agree(survivors));
    return agreements = coordinator.agreements();
  }

  secagg::Session session;
  std::deque<secagg::Client> clients;
  secagg::Coordinator coordinator;
  secagg::Roster roster;
  std::map<ClientId, secagg::Masked> masked;
  secagg::Survivors survivors;
  secagg::Agreements agreements;
};

}  // namespace fedstride::test
