#include "secagg/rehearsal.hpp"

#include <type_traits>
#include <utility>

namespace fedstride::secagg {

namespace {

Session shared(Session session) {
  session.verified = std::make_shared<VerifiedSignatures>();
  session.pairs = std::make_shared<PairSecrets>();
  return session;
}

}  // namespace

void Rehearsal::collect(const std::vector<ClientId>& clients, Leaves stage, ForEachPiece for_each_piece, const auto& answer) {
  for_each_piece(static_cast<int>(clients.size()), [&](int i) {
    Role& role = roles_.at(clients[static_cast<std::size_t>(i)]);
    if (!role.stays(stage)) return;
    const auto message = answer(role);
    const std::string bytes = encoded(message);
    role.sent += bytes.size();
    const auto arrived = decode<std::remove_const_t<decltype(message)>>(bytes);
    const std::lock_guard lock(mutex_);
    coordinator_.take(arrived);
  });
}

template <class Message>
Message Rehearsal::to_client(Role& role, const std::string& encoded) {
  role.received += encoded.size();
  return decode<Message>(encoded);
}

Rehearsal::Rehearsal(Session session, std::vector<Secret> signing_keys, const std::vector<Leaves>& leaves,
                     const Secret& randomness, ForEachPiece for_each_piece)
    : session_(shared(std::move(session))), coordinator_(session_) {
  std::vector<ClientId> clients;
  for (std::size_t i = 0; i < session_.cohort.size(); ++i) {
    clients.push_back(session_.cohort[i].client);
    roles_[clients.back()] = {.client = nullptr, .leaves = leaves[i]};
  }
  for_each_piece(static_cast<int>(clients.size()), [&](int piece) {
    const auto i = static_cast<std::size_t>(piece);
    const Secret own = derived(randomness, "", "client " + std::to_string(clients[i]));
    roles_.at(clients[i]).client = std::make_unique<Client>(session_, clients[i], signing_keys[i], own);
  });
  collect(clients, Leaves::before_keys, for_each_piece, [](Role& role) { return role.client->advertise(); });
  const std::string roster = encoded(coordinator_.roster());
  collect(clients, Leaves::before_shares, for_each_piece,
          [&](Role& role) { return role.client->share(to_client<Roster>(role, roster)); });
  coordinator_.end_sharing();
}

void Rehearsal::add(ClientId client, Ring input) {
  Role& role = roles_.at(client);
  const Masked masked = role.client->mask(to_client<Delivery>(role, encoded(coordinator_.delivery(client))), std::move(input));
  const std::lock_guard lock(mutex_);
  coordinator_.take(masked);
}

Ring Rehearsal::sum(ForEachPiece for_each_piece) {
  const std::string survivors = encoded(coordinator_.survivors());
  collect(included(), Leaves::before_signature, for_each_piece,
          [&](Role& role) { return role.client->agree(to_client<Survivors>(role, survivors)); });
  const std::string agreements = encoded(coordinator_.agreements());
  collect(included(), Leaves::before_unmasking, for_each_piece,
          [&](Role& role) { return role.client->open(to_client<Agreements>(role, agreements), std::nullopt).shares; });
  std::vector<std::string> remarks;
  return coordinator_.sum(remarks);
}

}  // namespace fedstride::secagg
