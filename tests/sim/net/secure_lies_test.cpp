// A coordinator that lies in any number it sends, with a colluder among its clients: whatever it does, no honest client's update is in
// what it can work out, and honest clients say in one line why they refuse.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "secagg/client.hpp"
#include "secagg/shamir.hpp"
#include "server/cohorts.hpp"
#include "sim/net/key_proof.hpp"
#include "sim/net/secure_attempt.hpp"
#include "sim/net/secure_round.hpp"
#include "tests/secagg/federation.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sanitized.hpp"

namespace fedstride::test::secure_lies_test {
namespace {

using namespace secagg;

constexpr ClientId kClients = 10;
constexpr ClientId kColluder = 9;
constexpr std::size_t kLength = 2;
const Train kTrain{.round = 7, .model_hash = "model", .is_private = false, .releases = 0, .told = {}, .tests = false};

SecureRules rules() { return {.masks = true, .dropouts = {0.2}, .colluders = {0.1}}; }

DrawnClients cohort_of(const std::string& kind) {
  if (kind == "all") return {kClients, kClients, kClients, "all"};
  if (kind == "fixed") return {kClients + 5, kClients, kClients, "fixed"};
  if (kind == "poisson") return {kClients + 5, fewest_drawn(kClients + 5, 0.7), kClients + 5, "poisson"};
  return {kClients, 0, kClients, "all"};  // under example-level privacy, when budgets are spent
}

/// Certificates of all clients, and what comes with their keys.
struct Certified {
  TemporaryFolder folder;
  std::vector<std::string> proofs;
  std::unique_ptr<KeyChecker> checker;

  Certified() {
    const auto certificates = folder.path() / "certificates";
    make_certificates(certificates, {.clients = kClients});
    for (ClientId client = 0; client < kClients; ++client)
      proofs.push_back(key_proof(client_files(certificates, client), client, verifying_key(signing_key(client))));
    checker = std::make_unique<KeyChecker>(client_files(certificates, 0));
  }
  void check(const Invitation::Invited& invited) const {
    const std::string why = checker->objection(invited.member.client, invited.member.key, invited.proof);
    if (!why.empty()) throw UnusableKeys(Error::Kind::failure, why);
  }
};

/// An honest client: what `fedstride join` does with a message of secure aggregation (sim/parties/join.cpp).
struct Honest {
  ClientId self = 0;
  DrawnClients drawn = {};
  const Certified* certified = nullptr;
  std::shared_ptr<VerifiedSignatures> verified = {};  ///< each good signature is verified once for all
  bool binds = true;  ///< false: it believes what it is told of the cohort, as a client did that did not compare
  std::optional<Session> session = {};
  std::optional<Client> client = {};
  std::optional<KeptList> kept = {};
  bool has_left = false;
  std::string why = {};

  std::optional<std::string> answer(std::uint32_t stage, const std::string& message, unsigned attempt) {
    if (has_left || (stage > 0 && !client)) return std::nullopt;
    try {
      return take(stage, message, attempt);
    } catch (const UnusableKeys& error) {
      client.reset();
      why = error.what();
    } catch (const Error& error) {
      has_left = true;
      why = error.what();
    }
    CHECK_MESSAGE((!why.empty() && why.size() < 400 && why.find('\n') == std::string::npos), why);
    return std::nullopt;
  }

 private:
  std::string take(std::uint32_t stage, const std::string& message, unsigned attempt) {
    if (stage == 0) {
      client.reset();
      const auto invitation = secagg::decode<Invitation>(message);
      session = invited_session(rules(), invitation, drawn, kTrain, kLength, [this](const Invitation::Invited& one) {
        if (certified != nullptr) certified->check(one);
      });
      if (!binds) session->plan.clients = 1000;
      session->verified = verified;
      client.emplace(*session, self, signing_key(self),
                     secret_of("attempt " + std::to_string(attempt) + " of " + std::to_string(self)));
      return encoded(client->advertise());
    }
    if (stage == 1) return encoded(client->share(secagg::decode<Roster>(message)));
    if (stage == 2) return encoded(client->mask(secagg::decode<Delivery>(message), Ring(kLength, 128)));
    if (stage == 3) return encoded(client->agree(secagg::decode<Survivors>(message)));
    const Client::Opening opening = client->open(secagg::decode<Agreements>(message), kept);
    kept = opening.keep;
    return encoded(opening.shares);
  }
};

/// What the coordinator and the colluder know of one attempt.
struct Known {
  std::map<ClientId, Advert> adverts;
  std::map<ClientId, std::map<std::uint8_t, Secret>> seeds, masks;  ///< shares, by owner and point
  std::map<ClientId, std::vector<ClientId>> holders;
  std::map<ClientId, std::set<ClientId>> masked_with;  ///< whose inputs have come, and whose masks are in them

  static std::optional<Secret> opened(const std::map<std::uint8_t, Secret>& shares, const auto& fits) {
    std::vector<Share> all;
    for (const auto& [point, value] : shares) all.push_back({point, value});
    for (std::size_t count = all.size(); count > 0; --count)
      if (Secret secret = recovered(std::span(all).first(count)); fits(secret)) return secret;
    return std::nullopt;
  }
  bool has_seed(ClientId owner) const {
    const auto found = seeds.find(owner);
    const Advert& advert = adverts.at(owner);
    return found != seeds.end() && opened(found->second, [&](const Secret& one) {
                                     return commitment_to(one, advert.mask_key) == advert.commitment;
                                   }).has_value();
  }
  bool has_mask_key(ClientId owner) const {
    if (owner == kColluder) return true;
    const auto found = masks.find(owner);
    return found != masks.end() &&
           opened(found->second, [&](const Secret& one) { return public_key(one) == adverts.at(owner).mask_key; }).has_value();
  }
  /// For each sum of honest inputs that can be worked out, who is in it.
  std::vector<std::set<ClientId>> sums() const {
    std::vector<std::set<ClientId>> all;
    std::set<ClientId> left, open_keys;
    for (const auto& [client, with] : masked_with)
      if (client != kColluder) left.insert(client);
    for (const auto& [client, advert] : adverts)
      if (has_mask_key(client)) open_keys.insert(client);
    while (!left.empty()) {
      std::set<ClientId> sum{*left.begin()};
      std::vector<ClientId> reached{*left.begin()};
      left.erase(left.begin());
      bool is_open = true;
      while (!reached.empty()) {
        const ClientId one = reached.back();
        reached.pop_back();
        is_open = is_open && has_seed(one);
        if (open_keys.contains(one)) continue;  // all its masks of pairs are known
        for (const ClientId other : masked_with.at(one)) {
          if (other == one || open_keys.contains(other)) continue;
          if (!masked_with.contains(other)) is_open = false;  // nothing has come that would cancel the mask of the pair
          if (left.erase(other) > 0) {
            sum.insert(other);
            reached.push_back(other);
          }
        }
      }
      if (is_open) all.push_back(std::move(sum));
    }
    return all;
  }
};

/// The client whose input follows from these sums, by linear algebra; none if there is none.
std::optional<ClientId> singled_out(const std::vector<std::set<ClientId>>& sums) {
  std::vector<std::vector<double>> rows;
  for (const auto& sum : sums) {
    std::vector<double> row(kClients, 0);
    for (const ClientId client : sum) row[client] = 1;
    rows.push_back(row);
  }
  std::size_t done = 0;
  for (ClientId column = 0; column < kClients; ++column) {
    const auto pivot = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(done), rows.end(),
                                    [&](const auto& row) { return std::abs(row[column]) > 1e-9; });
    if (pivot == rows.end()) continue;
    std::swap(rows[done], *pivot);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i == done) continue;
      const double factor = rows[i][column] / rows[done][column];
      for (ClientId k = 0; k < kClients; ++k) rows[i][k] -= factor * rows[done][k];
    }
    ++done;
  }
  for (std::size_t i = 0; i < done; ++i) {
    const auto is_there = [](double value) { return std::abs(value) > 1e-9; };
    if (std::ranges::count_if(rows[i], is_there) == 1)
      return static_cast<ClientId>(std::ranges::find_if(rows[i], is_there) - rows[i].begin());
  }
  return std::nullopt;
}

/// What a client is told: the honest message, or another.
using Lie = std::function<std::string(std::uint32_t stage, ClientId to, const std::string& honest)>;

/// A coordinator's plan for an attempt, beyond single lies: how many it says were drawn, and two groups that are told different lists of
/// survivors.
struct Scheme {
  std::uint32_t planned = kClients;
  std::set<ClientId> apart = {};  ///< the second group; empty: all are told the same
};

class Adversary {
 public:
  explicit Adversary(const std::string& cohort, bool binds = true, const Certified* certified = nullptr) : certified_(certified) {
    const auto verified = std::make_shared<VerifiedSignatures>();
    for (ClientId client = 0; client < kColluder; ++client)
      honest.push_back(
          {.self = client, .drawn = cohort_of(cohort), .certified = certified, .verified = verified, .binds = binds});
  }

  /// An attempt at the round, carried on with whoever still answers.
  void attempt(const Scheme& scheme, const Lie& lie) {
    ++number_;
    Known known;
    Invitation invitation{.planned = scheme.planned};
    for (ClientId client = 0; client < kClients; ++client)
      invitation.members.push_back(
          {{client, verifying_key(signing_key(client))}, certified_ != nullptr ? certified_->proofs[client] : std::string()});
    // The colluder is told what an honest client would be.
    Session session;
    try {
      session = invited_session(rules(), invitation, {kClients, 0, kClients + 5, ""}, kTrain, kLength, [](const auto&) {});
    } catch (const Error&) {
      return;  // no plan for so many
    }
    session.plan.clients = 1000;
    session.verified = honest.front().verified;
    const Secret randomness = secret_of("attempt " + std::to_string(number_) + " of the colluder");
    Client colluder(session, kColluder, signing_key(kColluder), randomness);
    Roster roster;
    for (Honest& one : honest)
      if (const auto advert = heard<Advert>(one, 0, encoded(invitation), lie)) roster.adverts.push_back(*advert);
    roster.adverts.push_back(colluder.advertise());
    for (const Advert& advert : roster.adverts) known.adverts[advert.client] = advert;

    std::map<ClientId, Shares> shares;
    for (Honest& one : honest)
      if (const auto sent = heard<Shares>(one, 1, encoded(roster), lie)) shares[one.self] = *sent;
    try {
      shares[kColluder] = colluder.share(roster);
    } catch (const Error&) {  // too few are left, for an honest client
    }
    const Bytes32 hash = hash_of(roster);
    std::vector<ClientId> named, sharers;
    for (const Advert& advert : roster.adverts) named.push_back(advert.client);
    for (const auto& [client, sent] : shares) sharers.push_back(client);
    const Graph graph(named, hash, session.plan.degree);
    for (const ClientId client : named) known.holders[client] = graph.holders(client);
    const Secret share_secret = derived(randomness, "", "share key");
    for (const auto& [owner, sent] : shares)
      for (const Shares::Sealed& box : sent.boxes)
        if (box.client == kColluder) open_box(known, share_secret, hash, owner, box.box);

    std::map<ClientId, Signed> inputs;
    for (Honest& one : honest) {
      Delivery delivery{.sharers = sharers};
      for (const auto& [owner, sent] : shares)
        for (const Shares::Sealed& box : sent.boxes)
          if (box.client == one.self) delivery.boxes.push_back({owner, box.box});
      const auto masked = heard<Masked>(one, 2, encoded(delivery), lie);
      if (!masked) continue;
      inputs[one.self] = {one.self, masked->signature};
      for (const ClientId other : known.holders[one.self])
        if (shares.contains(other)) known.masked_with[one.self].insert(other);
    }
    inputs[kColluder] = {kColluder, sign(signing_key(kColluder), masked_text(hash, hash_of(sharers)))};

    for (const bool second : {false, true}) {
      if (second && scheme.apart.empty()) break;
      const auto is_here = [&](ClientId client) { return client == kColluder || scheme.apart.contains(client) == second; };
      Survivors survivors;
      std::vector<ClientId> list;
      for (const auto& [client, signature] : inputs)
        if (scheme.apart.empty() || is_here(client)) survivors.clients.push_back(signature), list.push_back(client);
      Agreements agreements;
      for (Honest& one : honest)
        if (is_here(one.self))
          if (const auto agreed = heard<Agreement>(one, 3, encoded(survivors), lie)) agreements.clients.push_back(*agreed);
      agreements.clients.push_back(
          {kColluder, sign(signing_key(kColluder), agreement_text(hash, hash_of(sharers), hash_of(list)))});
      for (Honest& one : honest) {
        if (!is_here(one.self)) continue;
        const auto given = heard<Unmasking>(one, 4, encoded(agreements), lie);
        if (!given) continue;
        for (const Unmasking::Opened& share : given->shares)
          (share.of_seed ? known.seeds : known.masks)[share.owner][point_of(known, share.owner, one.self)] = share.value;
      }
    }
    for (auto& sum : known.sums()) sums.push_back(std::move(sum));
  }

  std::vector<Honest> honest;
  std::vector<std::set<ClientId>> sums;

 private:
  template <class Message>
  std::optional<Message> heard(Honest& one, std::uint32_t stage, const std::string& message, const Lie& lie) const {
    const auto answer = one.answer(stage, lie ? lie(stage, one.self, message) : message, number_);
    if (!answer) return std::nullopt;
    return secagg::decode<Message>(*answer);
  }
  static std::uint8_t point_of(const Known& known, ClientId owner, ClientId holder) {
    const auto& holders = known.holders.at(owner);
    return static_cast<std::uint8_t>(std::ranges::lower_bound(holders, holder) - holders.begin() + 1);
  }
  static void open_box(Known& known, const Secret& share_secret, const Bytes32& roster, ClientId owner, const std::string& box) {
    std::string plain;
    if (owner == kColluder || !is_usable(known.adverts[owner].share_key)) return;
    const Secret shared = shared_secret(share_secret, known.adverts[owner].share_key);
    if (!decrypt(box_key(shared, roster, owner, kColluder), "", box, plain)) return;
    const std::uint8_t point = point_of(known, owner, kColluder);
    std::memcpy(known.seeds[owner][point].bytes.data(), plain.data(), 32);
    std::memcpy(known.masks[owner][point].bytes.data(), plain.data() + 32, 32);
  }

  const Certified* certified_;
  unsigned number_ = 0;
};

/// The message with one number or block of it changed, whichever fields it has: lists are words of 32 bits and blocks of whole words.
std::string changed(const std::string& honest, RandomStream& random) {
  std::string other = honest;
  const std::size_t words = honest.size() / 4;
  if (words == 0) return other + "1234";
  const auto word_at = [&](std::size_t i) {
    std::uint32_t word = 0;
    std::memcpy(&word, honest.data() + 4 * i, 4);
    return word;
  };
  const std::size_t at = random.below(words);
  const std::uint32_t word = word_at(at);
  const std::size_t block = std::min<std::size_t>(honest.size() - 4 * at, random.below(2) == 0 ? 32 : 64);
  switch (random.below(9)) {
    case 0:
      word_at(at) == 0 ? other[4 * at] = 1 : other[4 * at] ^= 1;
      break;
    case 1:
      std::memset(other.data() + 4 * at, 0, block);
      break;
    case 2:
      std::memset(other.data() + 4 * at, 0xff, block);
      break;
    case 3: {  // too small, too large
      const std::uint32_t values[] = {0, 1, word - 1, word + 1, word / 2, word * 2, 1U << 31, ~0U};
      std::memcpy(other.data() + 4 * at, &values[random.below(std::size(values))], 4);
      break;
    }
    case 4:  // repeated
      std::memcpy(other.data() + 4 * at, honest.data() + 4 * random.below((honest.size() - block) / 4 + 1), block);
      break;
    case 5:
      other.resize(random.below(honest.size()));
      break;
    case 6:
      other.append(honest.substr(4 * at, block));
      break;
    case 7: {  // a number of the head, which counts or bounds what follows
      const std::size_t head = random.below(std::min<std::size_t>(words, 3));
      const auto value = static_cast<std::uint32_t>(random.below(16));
      std::memcpy(other.data() + 4 * head, &value, 4);
      break;
    }
    default:
      other.erase(4 * at, block);
  }
  return other;
}

/// The last list or signature that it is given, without some of its clients.
std::string shortened(std::uint32_t stage, const std::string& honest, RandomStream& random) {
  const auto drop = [&](auto& list) {
    for (std::size_t left = 1 + random.below(4); left > 0 && !list.empty(); --left)
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(random.below(list.size())));
  };
  const auto without = [&]<class Message>(Message message, auto member) {
    drop(message.*member);
    return encoded(message);
  };
  switch (stage) {
    case 0:
      return without(secagg::decode<Invitation>(honest), &Invitation::members);
    case 1:
      return without(secagg::decode<Roster>(honest), &Roster::adverts);
    case 2:
      return random.below(2) == 0 ? without(secagg::decode<Delivery>(honest), &Delivery::boxes)
                                  : without(secagg::decode<Delivery>(honest), &Delivery::sharers);
    case 3:
      return without(secagg::decode<Survivors>(honest), &Survivors::clients);
    default:
      return without(secagg::decode<Agreements>(honest), &Agreements::clients);
  }
}

const std::string kCohorts[] = {"all", "fixed", "poisson", "example"};

/// Each number that may be said to have been drawn, with a second group that is told another list of survivors: of each size under
/// ./run-tests --all, else of half of the clients.
std::size_t leaks_of_two_lists(std::span<const std::string> cohorts, bool binds) {
  std::size_t leaks = 0;
  for (const std::string& cohort : cohorts)
    for (std::uint32_t planned = 0; planned <= kClients + 5; ++planned)
      for (ClientId group = every_check() ? 0 : 4; group <= (every_check() ? kColluder : 5U); ++group) {
        Scheme scheme{.planned = planned};
        for (ClientId client = 0; client < group; ++client) scheme.apart.insert(client);
        Adversary adversary(cohort, binds);
        adversary.attempt(scheme, nullptr);
        leaks += singled_out(adversary.sums) ? 1 : 0;
      }
  return leaks;
}

}  // namespace

TEST_CASE("an honest coordinator learns the sum over all, and only that") {
  for (const std::string& cohort : kCohorts) {
    Adversary honest(cohort);
    honest.attempt({}, nullptr);
    REQUIRE(honest.sums.size() == 1);
    CHECK(honest.sums[0].size() == kColluder);
    CHECK(!singled_out(honest.sums));
    honest.attempt({}, nullptr);
    CHECK(honest.sums.size() == 2);
    CHECK(!singled_out(honest.sums));
  }
  CHECK(singled_out({{0, 1, 2}, {1, 2}}) == 0);
  CHECK(!singled_out({{0, 1, 2}, {2, 3}}));
}

TEST_CASE("however many clients are said to have been drawn, two lists of survivors give no client's update") {
  CHECK(leaks_of_two_lists(kCohorts, true) == 0);
  // Clients that do not compare the number with the list are what these attempts find out.
  CHECK(leaks_of_two_lists(std::span(kCohorts).last(1), false) > 0);
}

TEST_CASE("a list longer than the number of clients drawn is refused by name, whatever the cohort") {
  const Certified certificates;
  for (const auto* const certified : {static_cast<const Certified*>(nullptr), &certificates})
    for (const std::string& cohort : kCohorts) {
      Adversary honest(cohort, true, certified);
      honest.attempt({}, nullptr);
      CHECK(honest.sums.size() == 1);
      Adversary adversary(cohort, true, certified);
      adversary.attempt({.planned = 3}, nullptr);
      for (const Honest& one : adversary.honest) {
        CHECK(one.has_left);
        CHECK_MESSAGE((names(one.why, {"cohort lists 10 clients", "3"}) ||
                       names(one.why, {"3 clients were drawn", cohort == "fixed"     ? "'fixed'"
                                                               : cohort == "poisson" ? "'poisson'"
                                                                                     : "'all'"})),
                      one.why);
      }
      CHECK(adversary.sums.empty());
    }
}

// Under ./run-tests --all 10,000 lies, in the ordinary run 300.
TEST_CASE("a lie in any number of any message, to some clients or all, over several attempts, gives no client's update") {
  const std::size_t lies = every_check() ? 10'000 : 300 / (is_sanitized() ? 4 : 1);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < lies; ++i) {
    RandomStream random(17, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(i)});
    Adversary adversary(kCohorts[i % std::size(kCohorts)]);
    const std::uint64_t attempts = 1 + random.below(3);
    for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
      const std::uint64_t stage = random.below(5);
      const std::uint64_t liars_to = random.below(3);  // one, some, all
      const auto victim = static_cast<ClientId>(random.below(kColluder));
      const bool is_list = random.below(3) == 0;
      const std::uint64_t seed = random.below(1U << 30);
      Scheme scheme;
      if (random.below(3) == 0) scheme.planned = static_cast<std::uint32_t>(random.below(kClients + 6));
      for (ClientId client = 0; client < kColluder && random.below(2) == 0; ++client) scheme.apart.insert(client);
      adversary.attempt(scheme, [&](std::uint32_t at, ClientId to, const std::string& honest) {
        const bool is_told = liars_to == 2 || (liars_to == 1 ? to % 2 == victim % 2 : to == victim);
        if (at != stage || !is_told) return honest;
        RandomStream same(seed, {.purpose = Purpose::test});  // whoever is lied to is told the same
        return is_list ? shortened(at, honest, same) : changed(honest, same);
      });
    }
    const auto victim = singled_out(adversary.sums);
    CHECK_MESSAGE(!victim, "lie " << i << " gives client " << *victim);
    for (const Honest& one : adversary.honest) refused += one.why.empty() ? 0 : 1;
  }
  CHECK(refused > lies);  // of nine honest clients each
}

TEST_CASE("a proof of a key that the others could not read is refused by name, however good it is") {
  const FederationTerms terms{.welcome = {},
                              .data_hash = "",
                              .roster = std::vector<RosterEntry>(2),
                              .packings = {},
                              .secure = true,
                              .key_objection = [](auto&&...) { return std::string(); }};
  SigningKeys keys(terms, 2);
  Ready ready;
  ready.signing_key = std::string(64, 'a');
  ready.key_proof = std::string(kMaxProof + 1, 'p');
  CHECK(names(keys.objection(1, ready), {"client 1", "4097", "4096"}));
  ready.key_proof.pop_back();
  CHECK(keys.objection(1, ready).empty());
  Invitation invitation{.planned = 2, .members = {keys.invited(1)}};
  CHECK(secagg::decode<Invitation>(encoded(invitation)).members[0].proof == ready.key_proof);
}

TEST_CASE(
    "keys of small order end nothing but an attempt: the coordinator names who sent them, and a client that meets them goes on") {
  Session session = session_of(5, choose_plan({5, 1, 0}), kLength);
  const Bytes32 zeros{}, one{1};
  for (const Bytes32& bad : {zeros, one})
    for (const bool is_share_key : {false, true}) {
      Attempt attempt(session);
      Advert advert = attempt.clients[3].advertise();
      (is_share_key ? advert.share_key : advert.mask_key) = bad;
      advert.signature = sign(signing_key(3), advert_text(advert));
      CHECK_FAILURE(attempt.coordinator.take(advert), "round 7", "client 3", "key of small order");
      // A coordinator that passes it on.
      Roster roster;
      for (ClientId client = 0; client < 5; ++client)
        roster.adverts.push_back(client == 3 ? advert : attempt.clients[client].advertise());
      if (is_share_key) {
        CHECK_THROWS_AS(attempt.clients[1].share(roster), UnusableKeys);
      } else {
        Delivery delivery;
        for (ClientId client = 0; client < 5; ++client) {
          delivery.sharers.push_back(client);
          if (client == 3) delivery.boxes.push_back({3, "does not open"});
          if (client == 3) continue;
          for (const Shares::Sealed& box : attempt.clients[client].share(roster).boxes)
            if (box.client == 1) delivery.boxes.push_back({client, box.box});
        }
        CHECK_THROWS_AS(attempt.clients[1].mask(delivery, Ring(kLength, 128)), UnusableKeys);
      }
      // Nobody but client 3 is to blame if it did not sign them.
      advert.signature[0] ^= 1;
      Attempt other(session);
      Roster unsigned_roster;
      for (ClientId client = 0; client < 5; ++client)
        unsigned_roster.adverts.push_back(client == 3 ? advert : other.clients[client].advertise());
      CHECK_FAILURE(other.clients[1].share(unsigned_roster), "client 3", "not signed");
    }
}

}  // namespace fedstride::test::secure_lies_test
