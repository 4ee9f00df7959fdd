#include "sim/net/secure_attempt.hpp"

#include <functional>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"

namespace fedstride {

secagg::Session secure_session(const SecureRules& rules, std::uint32_t round, const std::string& model_hash,
                               std::span<const double> told, std::uint32_t planned, std::uint64_t length) {
  return {.round = round,
          .model = Hash().text(model_hash).values(told).digest(),
          .plan = rules.plan(planned),
          .length = length,
          .bits = rules.grid.bits,
          .settings = rules.session_settings()};
}

secagg::Session invited_session(const SecureRules& rules, const secagg::Invitation& invitation, const DrawnClients& drawn,
                                const Train& train, std::uint64_t length,
                                const std::function<void(const secagg::Invitation::Invited&)>& check_key) {
  if (invitation.planned < drawn.least || invitation.planned > drawn.most)
    throw failure("the coordinator says that " + counted(invitation.planned, "client") + " were drawn; with cohort '" +
                  std::string(drawn.cohort) + "' it must be " +
                  (drawn.least == drawn.most ? "" : "from " + std::to_string(drawn.least) + " to ") + std::to_string(drawn.most));
  secagg::Session session = secure_session(rules, train.round, train.model_hash, train.told, invitation.planned, length);
  for (const auto& invited : invitation.members) {
    const secagg::Member& member = invited.member;
    if (member.client >= drawn.among || (!session.cohort.empty() && session.cohort.back().client >= member.client))
      throw failure("the cohort has clients that are repeated, out of order or unknown");
    check_key(invited);
    session.cohort.push_back(member);
  }
  return session;
}

std::string_view stage_name(SecureAttempt::Stage stage) {
  constexpr std::string_view kStages[] = {"keys", "shares", "masked inputs", "signatures", "unmasking"};
  return kStages[static_cast<std::size_t>(stage) - 1];
}

SecureAttempt::SecureAttempt(secagg::Session session, const secagg::Invitation& invitation, std::uint32_t number, Send send)
    : session_(std::move(session)), number_(number), send_(std::move(send)), coordinator_(session_) {
  const Frame invited =
      encode(SecureMessage{.round = session_.round, .attempt = number_, .stage = 0, .message = secagg::encoded(invitation)});
  send_to(session_.cohort, &secagg::Member::client, [&](ClientId) { return invited; });
}

Frame SecureAttempt::frame(const std::string& message) const {
  return encode(SecureMessage{session_.round, number_, static_cast<std::uint32_t>(stage_), message});
}

// If a connection ends during sending, its client is dropped.
void SecureAttempt::send_to(const auto& clients, auto client, auto frame_for) {
  owing_.clear();
  for (const auto& one : clients)
    if (!gone_.contains(std::invoke(client, one))) owing_.insert(std::invoke(client, one));
  for (const ClientId one : std::set(owing_)) send_(one, frame_for(one));
}

template <class Message>
void SecureAttempt::take(ClientId client, const std::string& message) {
  const auto decoded = secagg::decode<Message>(message);
  if (decoded.client != client)
    throw failure("client " + std::to_string(client) + " sent a message from client " + std::to_string(decoded.client));
  coordinator_.take(decoded);
}

void SecureAttempt::take(ClientId client, std::uint32_t stage, const std::string& message) {
  if (stage != static_cast<std::uint32_t>(stage_) || !owing_.contains(client))
    throw failure("client " + std::to_string(client) + " sent a message of stage " + std::to_string(stage) + " in stage " +
                  std::to_string(static_cast<std::uint32_t>(stage_)) +
                  (owing_.contains(client) ? "" : ", in which it owes none"));
  switch (stage_) {
    case Stage::keys:
      take<secagg::Advert>(client, message);
      break;
    case Stage::shares:
      take<secagg::Shares>(client, message);
      break;
    case Stage::inputs:
      take<secagg::Masked>(client, message);
      inputs_.insert(client);
      break;
    case Stage::signatures:
      take<secagg::Agreement>(client, message);
      break;
    case Stage::unmasking:
      take<secagg::Unmasking>(client, message);
      break;
  }
  owing_.erase(client);
}

void SecureAttempt::drop(ClientId client) {
  gone_.insert(client);
  owing_.erase(client);
}

// The frames carry the number of the stage that ends here.
void SecureAttempt::next() {
  const auto send_all = [&](const auto& clients, auto client, const auto& message) {
    const Frame sent = frame(secagg::encoded(message));
    send_to(clients, client, [&](ClientId) { return sent; });
  };
  switch (stage_) {
    case Stage::keys: {
      const secagg::Roster roster = coordinator_.roster();
      send_all(roster.adverts, &secagg::Advert::client, roster);
      break;
    }
    case Stage::shares:
      coordinator_.end_sharing();
      send_to(coordinator_.sharers(), std::identity(),
              [&](ClientId client) { return frame(secagg::encoded(coordinator_.delivery(client))); });
      break;
    case Stage::inputs: {
      const secagg::Survivors survivors = coordinator_.survivors();
      send_all(survivors.clients, &secagg::Signed::client, survivors);
      break;
    }
    case Stage::signatures: {
      const secagg::Agreements agreements = coordinator_.agreements();
      send_all(agreements.clients, &secagg::Signed::client, agreements);
      break;
    }
    case Stage::unmasking:
      return;
  }
  stage_ = static_cast<Stage>(static_cast<std::uint32_t>(stage_) + 1);
}

}  // namespace fedstride
