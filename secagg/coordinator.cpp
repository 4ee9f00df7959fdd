#include "secagg/coordinator.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"

namespace fedstride::secagg {

void Coordinator::require(bool good, const std::string& what) const {
  if (!good) throw failure("round " + std::to_string(session_.round) + ": " + what);
}

void Coordinator::require(bool good, ClientId client, const std::string& what) const {
  if (!good) require(false, "client " + std::to_string(client) + " " + what);
}

void Coordinator::enough(std::size_t clients, const std::string& did) const {
  require(clients >= session_.plan.minimum, counted(clients, "client") + " " + did + "; secure aggregation needs " +
                                                std::to_string(session_.plan.minimum) + ", and nothing is revealed");
}

bool Coordinator::survives(ClientId client) const { return std::ranges::binary_search(included_, client); }

void Coordinator::take(const Advert& advert) {
  const ClientId client = advert.client;
  const Member* member = session_.find(client);
  require(stage_ == Stage::adverts, client, "sent keys too late");
  require(member != nullptr, client, "sent keys, but is not in the cohort");
  require(!adverts_.contains(client), client, "sent keys twice");
  require(advert.round == session_.round, client, "sent keys for round " + std::to_string(advert.round));
  require(
      advert.model == session_.model && advert.cohort == session_.cohort_hash() && advert.settings == session_.settings_hash(),
      client, "sent keys for another model, cohort or settings");
  require(session_.is_signed(client, advert_text(advert), advert.signature), client, "did not sign its keys");
  require(is_usable(advert.share_key) && is_usable(advert.mask_key), client, std::string("sent ") + kSmallOrder);
  adverts_[client] = advert;
}

Roster Coordinator::roster() {
  require(stage_ == Stage::adverts, "the stage of keys is over");
  enough(adverts_.size(), "sent keys");
  Roster roster;
  std::vector<ClientId> clients;
  for (const auto& [client, advert] : adverts_) {
    roster.adverts.push_back(advert);
    clients.push_back(client);
  }
  roster_hash_ = hash_of(roster);
  const Graph graph(clients, roster_hash_, session_.plan.degree);
  for (const ClientId client : clients) holders_[client] = graph.holders(client);
  stage_ = Stage::shares;
  return roster;
}

void Coordinator::take(const Shares& shares) {
  const ClientId client = shares.client;
  require(stage_ == Stage::shares, client, "sent shares out of turn");
  require(adverts_.contains(client), client, "sent shares without keys");
  require(!shares_.contains(client), client, "sent shares twice");
  std::vector<ClientId> due = holders_[client];
  std::erase(due, client);
  require(std::ranges::equal(due, shares.boxes, {}, {}, &Shares::Sealed::client), client,
          "did not send one share to each of its neighbors");
  shares_[client] = shares;
}

void Coordinator::end_sharing() {
  require(stage_ == Stage::shares, "the stage of shares is over");
  enough(shares_.size(), "sent shares");
  for (const auto& [client, shares] : shares_) sharers_.push_back(client);
  sharers_hash_ = hash_of(sharers_);
  stage_ = Stage::masked;
}

Delivery Coordinator::delivery(ClientId client) const {
  Delivery delivery{.sharers = sharers_};
  for (const ClientId other : holders_.at(client)) {
    const auto shares = shares_.find(other);
    if (other == client || shares == shares_.end()) continue;
    for (const Shares::Sealed& box : shares->second.boxes)
      if (box.client == client) delivery.boxes.push_back({other, box.box});
  }
  return delivery;
}

void Coordinator::take(const Masked& masked) {
  const ClientId client = masked.client;
  require(stage_ == Stage::masked, client, "sent its masked input out of turn");
  require(shares_.contains(client), client, "sent a masked input without shares");
  require(!masked_.contains(client), client, "sent its masked input twice");
  require(masked.input.size() == session_.length && masked.input.bits() == session_.bits, client,
          "sent a masked input of " + counted(masked.input.size(), "number") + " of " + std::to_string(masked.input.bits()) +
              " bits; it must have " + std::to_string(session_.length) + " of " + std::to_string(session_.bits));
  require(session_.is_signed(client, masked_text(roster_hash_, sharers_hash_), masked.signature), client,
          "signed another list of keys or sharers");
  masked_[client] = masked.signature;
  sum_.add(masked.input);
}

Survivors Coordinator::survivors() {
  require(stage_ == Stage::masked, "the stage of masked inputs is over");
  enough(masked_.size(), "sent a masked input");
  Survivors list;
  for (const auto& [client, signature] : masked_) {
    list.clients.push_back({client, signature});
    included_.push_back(client);
  }
  agreement_ = agreement_text(roster_hash_, sharers_hash_, hash_of(included_));
  stage_ = Stage::agreements;
  return list;
}

void Coordinator::take(const Agreement& agreement) {
  const ClientId client = agreement.client;
  require(stage_ == Stage::agreements, client, "signed out of turn");
  require(survives(client), client, "signed a list of survivors, but is not a survivor");
  require(!agreements_.contains(client), client, "signed twice");
  require(session_.is_signed(client, agreement_, agreement.signature), client, "signed another list of survivors");
  agreements_[client] = agreement.signature;
}

Agreements Coordinator::agreements() {
  require(stage_ == Stage::agreements, "the stage of signatures is over");
  enough(agreements_.size(), "signed the list of survivors");
  Agreements list;
  for (const auto& [client, signature] : agreements_) list.clients.push_back({client, signature});
  stage_ = Stage::unmasking;
  return list;
}

void Coordinator::take(const Unmasking& unmasking) {
  const ClientId client = unmasking.client;
  require(stage_ == Stage::unmasking, client, "gave shares out of turn");
  require(survives(client), client, "gave shares, but is not a survivor");
  require(!opened_[client], client, "gave shares twice");
  std::vector<ClientId> due = holders_[client];
  std::erase_if(due, [&](ClientId owner) { return !shares_.contains(owner); });
  for (const Unmasking::Opened& one : unmasking.shares) {
    require(std::ranges::binary_search(due, one.owner), client,
            "gave a share of client " + std::to_string(one.owner) + ", of which it holds none");
    require(one.of_seed == survives(one.owner), client, "gave the wrong kind of share of client " + std::to_string(one.owner));
  }
  // The client holds no share of a neighbor whose box it could not open.
  std::vector<ClientId> lacking;
  auto next = unmasking.shares.begin();
  for (const ClientId owner : due) {
    if (next != unmasking.shares.end() && next->owner == owner)
      ++next;
    else
      lacking.push_back(owner);
  }
  require(next == unmasking.shares.end() && !std::ranges::binary_search(lacking, client), client,
          "did not give one share of each client whose shares it holds");
  for (const ClientId owner : lacking) withheld_[owner].push_back(client);
  opened_[client] = true;
  for (const Unmasking::Opened& one : unmasking.shares) {
    const auto& holders = holders_[one.owner];
    const auto place = std::ranges::lower_bound(holders, client) - holders.begin();
    given_[one.owner].push_back({client, {static_cast<std::uint8_t>(place + 1), one.value}});
  }
}

Secret Coordinator::recover(ClientId owner, const char* what, const auto& fits, std::vector<std::string>& remarks) const {
  const unsigned threshold = session_.plan.threshold;
  const auto found = given_.find(owner);
  const std::size_t count = found == given_.end() ? 0 : found->second.size();
  require(count >= threshold, "for the " + std::string(what) + " of client " + std::to_string(owner) + ", the coordinator has " +
                                  counted(count, "share") + "; " + std::to_string(threshold) + " are needed");
  const std::vector<Given>& given = found->second;
  std::vector<Share> used;
  for (unsigned i = 0; i < threshold; ++i) used.push_back(given[i].share);
  if (Secret secret = recovered(used); fits(secret)) return secret;
  // If one share is wrong, replacing it with another recovers the secret.
  for (std::size_t spare = threshold; spare < count; ++spare) {
    for (unsigned i = 0; i < threshold; ++i) {
      std::vector<Share> others = used;
      others[i] = given[spare].share;
      Secret secret = recovered(others);
      if (!fits(secret)) continue;
      remarks.push_back("client " + std::to_string(given[i].holder) + " gave a wrong share of the " + what + " of client " +
                        std::to_string(owner));
      return secret;
    }
  }
  require(false, "the shares of the " + std::string(what) + " of client " + std::to_string(owner) +
                     " do not recover it: the client sent wrong shares, or others gave wrong ones");
  return {};
}

Ring Coordinator::sum(std::vector<std::string>& remarks) {
  require(stage_ == Stage::unmasking, "the sum was requested out of turn");
  stage_ = Stage::over;
  for (const auto& [owner, holders] : withheld_)
    for (const ClientId holder : holders)
      remarks.push_back("client " + std::to_string(holder) + " gave no share of client " + std::to_string(owner) +
                        ": what client " + std::to_string(owner) + " sent it could not be decrypted");
  for (const ClientId owner : sharers_) {
    const Advert& advert = adverts_.at(owner);
    if (survives(owner)) {
      const Secret seed = recover(
          owner, "seed", [&](const Secret& one) { return commitment_to(one, advert.mask_key) == advert.commitment; }, remarks);
      sum_.subtract_mask(own_mask_key(seed, roster_hash_));
      continue;
    }
    const Secret mask_secret = recover(
        owner, "mask key", [&](const Secret& one) { return public_key(one) == advert.mask_key; }, remarks);
    const ExchangeKey own(mask_secret);
    for (const ClientId other : holders_.at(owner)) {
      if (other == owner || !survives(other)) continue;
      const Secret key = pair_mask_key(own.shared_with(adverts_.at(other).mask_key), roster_hash_, owner, other);
      if (other < owner)
        sum_.subtract_mask(key);
      else
        sum_.add_mask(key);
    }
  }
  return std::move(sum_);
}

}  // namespace fedstride::secagg
