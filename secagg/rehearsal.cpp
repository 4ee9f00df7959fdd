#include "secagg/rehearsal.hpp"

#include <utility>

namespace fedstride::secagg {

namespace {

// The roles of one process need not each verify the same signature.
Session shared(Session session) {
  session.verified = std::make_shared<VerifiedSignatures>();
  return session;
}

}  // namespace

template <class Message>
Message Rehearsal::to_coordinator(Role& role, const Message& message) {
  const std::string bytes = encoded(message);
  role.sent += bytes.size();
  return decode<Message>(bytes);
}

template <class Message>
Message Rehearsal::to_client(Role& role, const Message& message) {
  const std::string bytes = encoded(message);
  role.received += bytes.size();
  return decode<Message>(bytes);
}

Rehearsal::Rehearsal(Session session, std::vector<Secret> signing_keys, const std::vector<Leaves>& leaves,
                     const Secret& randomness)
    : session_(shared(std::move(session))), coordinator_(session_) {
  for (std::size_t i = 0; i < session_.cohort.size(); ++i) {
    const ClientId client = session_.cohort[i].client;
    const Secret own = derived(randomness, "", "client " + std::to_string(client));
    roles_[client] = {.client = std::make_unique<Client>(session_, client, signing_keys[i], own), .leaves = leaves[i]};
  }
  for (auto& [client, role] : roles_)
    if (role.stays(Leaves::before_keys)) coordinator_.take(to_coordinator(role, role.client->advertise()));
  const Roster roster = coordinator_.roster();
  for (auto& [client, role] : roles_)
    if (role.stays(Leaves::before_shares)) coordinator_.take(to_coordinator(role, role.client->share(to_client(role, roster))));
  coordinator_.end_sharing();
}

void Rehearsal::add(ClientId client, Ring input) {
  Role& role = roles_.at(client);
  const Masked masked = role.client->mask(to_client(role, coordinator_.delivery(client)), std::move(input));
  const std::lock_guard lock(mutex_);
  coordinator_.take(masked);
}

Ring Rehearsal::sum() {
  const Survivors survivors = coordinator_.survivors();
  for (const ClientId client : coordinator_.included())
    if (Role& role = roles_.at(client); role.stays(Leaves::before_signature))
      coordinator_.take(to_coordinator(role, role.client->agree(to_client(role, survivors))));
  const Agreements agreements = coordinator_.agreements();
  for (const ClientId client : coordinator_.included())
    if (Role& role = roles_.at(client); role.stays(Leaves::before_unmasking))
      coordinator_.take(to_coordinator(role, role.client->open(to_client(role, agreements), std::nullopt).shares));
  std::vector<std::string> remarks;
  return coordinator_.sum(remarks);
}

}  // namespace fedstride::secagg
