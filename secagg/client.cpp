#include "secagg/client.hpp"

#include <algorithm>
#include <functional>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "secagg/shamir.hpp"

namespace fedstride::secagg {
namespace {

std::string name_of(ClientId client) { return "client " + std::to_string(client); }

std::string short_hash(const Bytes32& hash) { return hex_of(std::span(hash).first(8)); }

bool is_ascending(const auto& list, auto client) {
  for (std::size_t i = 1; i < list.size(); ++i)
    if (std::invoke(client, list[i - 1]) >= std::invoke(client, list[i])) return false;
  return true;
}

}  // namespace

Client::Client(const Session& session, ClientId self, const Secret& signing_key, const Secret& randomness)
    : session_(session), self_(self), signing_key_(signing_key) {
  const Member* member = session.find(self);
  require(member != nullptr && member->key == signing_key_.verifying_key(), "the cohort does not list it with its key");
  require(session.cohort.size() <= session.plan.clients,
          "the cohort lists " + counted(session.cohort.size(), "client") + "; it must list at most the " +
              std::to_string(session.plan.clients) + " that the coordinator says were drawn");
  mask_secret_ = derived(randomness, "", "mask key");
  share_key_.emplace(derived(randomness, "", "share key"));
  mask_key_.emplace(mask_secret_);
  seed_ = derived(randomness, "", "seed");
  coefficients_[0] = derived(randomness, "", "coefficients of the seed");
  coefficients_[1] = derived(randomness, "", "coefficients of the mask key");
}

void Client::require(bool good, const std::string& what) const {
  if (!good) throw refused_for_good("round " + std::to_string(session_.round) + ": " + name_of(self_) + " refuses: " + what);
}

Secret Client::exchanged(const ExchangeKey& own, ClientId other, const Bytes32& key) const {
  try {
    return session_.pairs ? session_.pairs->shared(own, key) : own.shared_with(key);
  } catch (const Error&) {
    throw UnusableKeys(Error::Kind::refused,
                       "round " + std::to_string(session_.round) + ": " + name_of(other) + " sent " + kSmallOrder);
  }
}

void Client::begin(Stage stage) {
  const bool is_next = stage == stage_;
  stage_ = Stage::over;  // until this step is done
  require(is_next, "a step of this attempt was requested twice or out of order");
}

bool Client::is_sharer(ClientId client) const { return std::ranges::binary_search(sharers_, client); }

Advert Client::advertise() {
  begin(Stage::advertise);
  Advert advert{.client = self_,
                .round = session_.round,
                .model = session_.model,
                .cohort = session_.cohort_hash(),
                .settings = session_.settings_hash(),
                .share_key = share_key_->public_half(),
                .mask_key = mask_key_->public_half()};
  advert.commitment = commitment_to(seed_, advert.mask_key);
  advert.signature = signing_key_.sign(advert_text(advert));
  own_ = advert;
  stage_ = Stage::share;
  return advert;
}

Shares Client::share(const Roster& roster) {
  begin(Stage::share);
  require(is_ascending(roster.adverts, &Advert::client), "the list of keys names a client twice, or is not in order");
  require(roster.adverts.size() >= session_.plan.minimum, "only " + counted(roster.adverts.size(), "client") + " sent keys; " +
                                                              std::to_string(session_.plan.minimum) + " are needed");
  bool has_own = false;
  for (const Advert& other : roster.adverts) {
    const std::string name = name_of(other.client);
    require(session_.find(other.client) != nullptr, name + " sent keys, but is not in the cohort");
    require(other.round == own_.round, "the keys of " + name + " are for round " + std::to_string(other.round));
    require(other.cohort == own_.cohort, name + " received another cohort");
    require(other.model == own_.model, name + " received another model, " + short_hash(other.model) + " instead of " +
                                           short_hash(own_.model) + ": a sum could single out a client");
    require(other.settings == own_.settings, name + " received other settings");
    if (other.client == self_) has_own = encoded(other) == encoded(own_);
    senders_.push_back(other.client);
  }
  require(has_own, "the list of keys does not contain its own keys");
  roster_hash_ = hash_of(roster);
  holders_ = Graph(senders_, roster_hash_, session_.plan.degree).holders(self_);
  const auto advert_of = [&](ClientId client) -> const Advert& {
    return *std::ranges::lower_bound(roster.adverts, client, {}, &Advert::client);
  };

  // Only neighbors' signatures are checked here; the others confirm their keys by signing this roster, or no share is revealed.
  for (const ClientId holder : holders_)
    require(holder == self_ || session_.is_signed(holder, advert_text(advert_of(holder)), advert_of(holder).signature),
            "the keys of " + name_of(holder) + " are not signed with its key");

  const auto count = static_cast<unsigned>(holders_.size());
  require(count >= session_.plan.threshold, "it has too few neighbors");
  const std::vector<Share> of_seed = split_secret(seed_, session_.plan.threshold, count, coefficients_[0]);
  const std::vector<Share> of_mask = split_secret(mask_secret_, session_.plan.threshold, count, coefficients_[1]);
  Shares message{.client = self_};
  for (std::size_t i = 0; i < count; ++i) {
    const ClientId holder = holders_[i];
    if (holder == self_) {
      held_[self_] = {of_seed[i].value, of_mask[i].value};
      continue;
    }
    mask_keys_[holder] = advert_of(holder).mask_key;
    const Secret& shared = shared_[holder] = exchanged(*share_key_, holder, advert_of(holder).share_key);
    std::string plain = std::string(text_of(of_seed[i].value.bytes)) + std::string(text_of(of_mask[i].value.bytes));
    message.boxes.push_back({holder, encrypted(box_key(shared, roster_hash_, self_, holder), "", plain)});
    wipe(plain);
  }
  stage_ = Stage::mask;
  return message;
}

Masked Client::mask(const Delivery& delivery, Ring input) {
  begin(Stage::mask);
  require(input.size() == session_.length && input.bits() == session_.bits, "its input has the wrong length or ring");
  require(is_ascending(delivery.sharers, std::identity()) && delivery.sharers.size() >= session_.plan.minimum,
          "only " + counted(delivery.sharers.size(), "client") + " sent shares; " + std::to_string(session_.plan.minimum) +
              " are needed");
  sharers_ = delivery.sharers;
  require(is_sharer(self_), "the list of sharers leaves it out, although it sent its shares");
  for (const ClientId client : sharers_)
    require(std::ranges::binary_search(senders_, client), name_of(client) + " sent shares without keys");
  senders_ = {};
  sharers_hash_ = hash_of(sharers_);

  for (const Shares::Sealed& box : delivery.boxes) {
    const auto shared = shared_.find(box.client);
    require(shared != shared_.end() && is_sharer(box.client) && !held_.contains(box.client) &&
                (unopened_.empty() || unopened_.back() < box.client),
            "there is a box from " + name_of(box.client) + ", but none is due");
    std::string plain;
    if (!decrypt(box_key(shared->second, roster_hash_, box.client, self_), "", box.box, plain) || plain.size() != 64) {
      unopened_.push_back(box.client);
      continue;
    }
    Held& held = held_[box.client];
    std::copy_n(plain.begin(), 32, held.seed.bytes.begin());
    std::copy_n(plain.begin() + 32, 32, held.mask.bytes.begin());
    wipe(plain);
  }
  std::size_t sharing = 0;
  for (const ClientId holder : holders_) {
    if (!is_sharer(holder)) continue;
    const bool opened = held_.contains(holder);
    require(opened || std::ranges::binary_search(unopened_, holder), "the shares of " + name_of(holder) + " are missing");
    if (opened) ++sharing;
  }
  require(sharing >= session_.plan.threshold, "of its neighbors and itself, only " + std::to_string(sharing) +
                                                  " sent shares that can be decrypted; " +
                                                  std::to_string(session_.plan.threshold) + " are needed");

  // A neighbor whose box does not open has presumably applied the mask of the pair, which could not be removed unless this client
  // applied its own side, too.

  for (const ClientId other : holders_) {
    if (other == self_ || !is_sharer(other)) continue;
    const Secret key = pair_mask_key(exchanged(*mask_key_, other, mask_keys_.at(other)), roster_hash_, self_, other);
    if (self_ < other)
      input.add_mask(key);
    else
      input.subtract_mask(key);
  }
  input.add_mask(own_mask_key(seed_, roster_hash_));
  stage_ = Stage::agree;
  return {.client = self_, .input = std::move(input), .signature = signing_key_.sign(masked_text(roster_hash_, sharers_hash_))};
}

Agreement Client::agree(const Survivors& survivors) {
  begin(Stage::agree);
  require(is_ascending(survivors.clients, &Signed::client), "the list of survivors names a client twice, or is not in order");
  require(survivors.clients.size() >= session_.plan.minimum, "the list has " + counted(survivors.clients.size(), "survivor") +
                                                                 "; " + std::to_string(session_.plan.minimum) + " are needed");
  const std::string text = masked_text(roster_hash_, sharers_hash_);
  for (const Signed& one : survivors.clients) {
    require(is_sharer(one.client), name_of(one.client) + " is named as a survivor, but did not send shares");
    // Each survivor's neighbors check its signature; `threshold` of their shares are needed to recover its seed.
    require(!std::ranges::binary_search(holders_, one.client) || session_.is_signed(one.client, text, one.signature),
            name_of(one.client) + " is named as a survivor, but signed other keys or another list of sharers");
    survivors_.push_back(one.client);
  }
  require(std::ranges::binary_search(survivors_, self_), "the list of survivors leaves it out, although it sent its input");
  sharers_ = {};
  stage_ = Stage::open;
  return {self_, signing_key_.sign(agreement_text(roster_hash_, sharers_hash_, hash_of(survivors_)))};
}

Client::Opening Client::open(const Agreements& agreements, const std::optional<KeptList>& earlier) {
  begin(Stage::open);
  const Bytes32 list = hash_of(survivors_);
  if (earlier) {
    require(earlier->round <= session_.round, "it has already given shares in round " + std::to_string(earlier->round));
    require(
        earlier->round < session_.round || earlier->survivors == list,
        "it has given shares in this round for another list of survivors: the difference of the two sums could be one client's "
        "input");
  }
  require(is_ascending(agreements.clients, &Signed::client), "the list of signatures names a client twice, or is not in order");
  require(agreements.clients.size() >= session_.plan.minimum, counted(agreements.clients.size(), "client") +
                                                                  " signed the list of survivors; " +
                                                                  std::to_string(session_.plan.minimum) + " are needed");
  const std::string text = agreement_text(roster_hash_, sharers_hash_, list);
  for (const Signed& one : agreements.clients) {
    require(std::ranges::binary_search(survivors_, one.client), name_of(one.client) + " signed, but is not a survivor");
    require(session_.is_signed(one.client, text, one.signature), name_of(one.client) + " signed another list of survivors");
  }
  Opening opening{{session_.round, list}, {.client = self_}};
  for (const auto& [owner, held] : held_) {
    const bool survives = std::ranges::binary_search(survivors_, owner);
    opening.shares.shares.push_back({owner, survives, survives ? held.seed : held.mask});
  }
  return opening;
}

}  // namespace fedstride::secagg
