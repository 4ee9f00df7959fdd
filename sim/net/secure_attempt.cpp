#include "sim/net/secure_attempt.hpp"

#include <functional>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"

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

std::string_view stage_name(SecureAttempt::Stage stage) {
  constexpr std::string_view kNames[] = {"keys", "shares", "masked inputs", "signatures", "unmasking"};
  return kNames[static_cast<std::size_t>(stage) - 1];
}

SecureAttempt::SecureAttempt(secagg::Session session, const secagg::Invitation& invitation, std::uint32_t number, Send send)
    : session_(std::move(session)), number_(number), send_(std::move(send)), coordinator_(session_) {
  const Frame invited =
      encode(SecureMessage{.round = session_.round, .attempt = number_, .stage = 0, .message = secagg::encoded(invitation)});
  send_to(session_.cohort, &secagg::Member::client, invited);
}

Frame SecureAttempt::frame(const std::string& message) const {
  return encode(SecureMessage{session_.round, number_, static_cast<std::uint32_t>(stage_), message});
}

// A connection that ends while it is sent to drops its client.
template <class Clients, class Projection>
void SecureAttempt::send_to(const Clients& clients, Projection client, const Frame& frame) {
  owing_.clear();
  for (const auto& one : clients)
    if (!gone_.contains(std::invoke(client, one))) owing_.insert(std::invoke(client, one));
  for (const ClientId one : std::set(owing_)) send_(one, frame);
}

template <class Message>
void SecureAttempt::take(ClientId client, const std::string& message) {
  const auto decoded = secagg::decode<Message>(message);
  if (decoded.client != client)
    throw failure("client " + std::to_string(client) + " sent a message of client " + std::to_string(decoded.client));
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

void SecureAttempt::next() {
  switch (stage_) {
    case Stage::keys: {
      const secagg::Roster roster = coordinator_.roster();
      const Frame sent = frame(secagg::encoded(roster));
      stage_ = Stage::shares;
      return send_to(roster.adverts, &secagg::Advert::client, sent);
    }
    case Stage::shares: {
      coordinator_.end_sharing();
      owing_.clear();
      for (const ClientId client : coordinator_.sharers())
        if (!gone_.contains(client)) owing_.insert(client);
      for (const ClientId client : std::set(owing_)) send_(client, frame(secagg::encoded(coordinator_.delivery(client))));
      stage_ = Stage::inputs;
      return;
    }
    case Stage::inputs: {
      const secagg::Survivors survivors = coordinator_.survivors();
      const Frame sent = frame(secagg::encoded(survivors));
      stage_ = Stage::signatures;
      return send_to(survivors.clients, &secagg::Signed::client, sent);
    }
    case Stage::signatures: {
      const secagg::Agreements agreements = coordinator_.agreements();
      const Frame sent = frame(secagg::encoded(agreements));
      stage_ = Stage::unmasking;
      return send_to(agreements.clients, &secagg::Signed::client, sent);
    }
    case Stage::unmasking:
      return;
  }
}

}  // namespace fedstride
