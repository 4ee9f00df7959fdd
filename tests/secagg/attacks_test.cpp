// Coordinators and clients that cheat: the honest side refuses by name, and nothing is learnt.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/error.hpp"
#include "tests/secagg/federation.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::attacks_test {
namespace {

using namespace secagg;

Session five() { return session_of(5, choose_plan({5, 2, 0})); }

Survivors list_of(const Attempt& attempt, const std::vector<ClientId>& clients) {
  Survivors list;
  for (const ClientId client : clients) list.clients.push_back({client, attempt.masked.at(client).signature});
  return list;
}

}  // namespace

TEST_CASE("a coordinator that swaps keys: its own are not signed by the client") {
  Attempt attempt(five());
  Roster swapped = attempt.advertise();
  const Secret own = secret_of("the coordinator's");
  for (const int field : {0, 1, 2}) {
    Attempt victim(five());
    Roster roster = victim.advertise();
    if (field == 0) roster.adverts[3].share_key = public_key(own);
    if (field == 1) roster.adverts[3].mask_key = public_key(own);
    if (field == 2) {
      roster.adverts[3].mask_key = public_key(own);
      roster.adverts[3].signature = sign(own, advert_text(roster.adverts[3]));
    }
    CHECK_FAILURE(victim.clients[1].share(roster), "round 7", "client 1", "client 3", "signed");
    CHECK_FAILURE(victim.clients[3].share(roster), "round 7", "client 3", "own keys");
  }
  // It signs as a client that it invented, which the cohort does not have.
  swapped.adverts.push_back(swapped.adverts[4]);
  swapped.adverts[5].client = 5;
  CHECK_FAILURE(attempt.clients[1].share(swapped), "client 1", "client 5", "cohort");
}

TEST_CASE("a coordinator that gives two clients two models, two cohorts or two settings is found out before anything is masked") {
  for (const int what : {0, 1, 2}) {
    Session other = five();
    if (what == 0) other.model = secret_of("another model").bytes;
    if (what == 1) other.cohort.pop_back();
    if (what == 2) other.settings = "another grid";
    Attempt victim(five()), others(other);
    Roster roster;
    for (ClientId client = 0; client < 5; ++client)
      if (client < 4 || what != 1) roster.adverts.push_back((client == 2 ? victim : others).clients[client].advertise());
    const char* const named = what == 0 ? "model" : what == 1 ? "cohort" : "settings";
    CHECK_FAILURE(victim.clients[2].share(roster), "client 2", "client 0", named);
    CHECK_FAILURE(others.clients[1].share(roster), "client 1", named);
  }
  Session session = five();
  session.cohort[2].key = session.cohort[1].key;
  CHECK_FAILURE(Client(session, 2, signing_key(2), secret_of("x")), "client 2", "cohort");
}

TEST_CASE("a coordinator that replays keys of another round, or of another attempt at this one") {
  Session earlier = five();
  earlier.round = 6;
  Attempt old(earlier, "old"), first(five(), "first"), second(five(), "second");
  const Roster past = old.advertise(), before = first.advertise();
  Roster now = second.advertise();
  now.adverts[3] = past.adverts[3];
  CHECK_FAILURE(second.clients[1].share(now), "client 1", "client 3", "round 6");
  Attempt third(five(), "third");
  Roster mixed = third.advertise();
  mixed.adverts[3] = before.adverts[3];
  CHECK_FAILURE(third.clients[3].share(mixed), "client 3", "own keys");
  // The others cannot tell, but client 3 signs no input under that roster, and what it signed before is of another.
  const Shares shares = third.clients[0].share(mixed);
  CHECK(shares.boxes.size() == 4);
  Attempt honest(five(), "third");
  honest.mask({0, 1, 2, 3, 4});
  Client& victim = third.clients[1];
  victim.share(mixed);
  Delivery delivery{.sharers = {1, 2, 3, 4}};
  CHECK_FAILURE(victim.mask(delivery, input_of(third.session, 1)), "client 1", "shares of client");
}

TEST_CASE("a survivor that is claimed as dropped says so, and its input stays under its own mask") {
  Attempt attempt(five());
  attempt.mask({0, 1, 2, 3, 4});
  const Survivors without = list_of(attempt, {0, 1, 3, 4});
  CHECK_FAILURE(attempt.clients[2].agree(without), "client 2", "leaves it out");
  Agreements signatures;
  for (const ClientId client : {0U, 1U, 3U, 4U}) signatures.clients.push_back(attempt.clients[client].agree(without));
  for (const ClientId client : {0U, 1U, 3U, 4U})
    for (const auto& share : attempt.clients[client].open(signatures, std::nullopt).shares.shares)
      CHECK(share.of_seed == (share.owner != 2));  // of client 2 nobody gives a share of the seed
}

TEST_CASE("both kinds of share: a client answers once, and another attempt at the round for the same list only") {
  Attempt first(five(), "first");
  first.agree({0, 1, 2, 3, 4});
  const auto given = first.clients[1].open(first.agreements, std::nullopt);
  for (const auto& share : given.shares.shares) CHECK(share.of_seed);
  CHECK_FAILURE(first.clients[1].open(first.agreements, std::nullopt), "client 1", "twice");
  CHECK_FAILURE(first.clients[1].agree(first.survivors), "client 1", "twice");

  // The round is resumed with one survivor fewer: the difference of the sums would be that one's input.
  Attempt fewer(five(), "second");
  fewer.agree({0, 1, 2, 4});
  CHECK_FAILURE(fewer.clients[1].open(fewer.agreements, given.keep), "client 1", "another list of survivors", "round 7");
  // With the same list fresh masks give the same sum.
  Attempt same(five(), "third");
  same.agree({0, 1, 2, 3, 4});
  for (const ClientId client : {0U, 1U, 4U}) same.coordinator.take(same.clients[client].open(same.agreements, given.keep).shares);
  std::vector<std::string> remarks;
  CHECK(same.coordinator.sum(remarks) == central_sum(same.session, same.everyone()));
  CHECK(remarks.empty());
  Attempt late(five(), "fourth");
  late.agree({0, 1, 2, 3, 4});
  CHECK_FAILURE(late.clients[0].open(late.agreements, KeptList{8, given.keep.survivors}), "client 0", "round 8");
}

TEST_CASE("a coordinator that lets all but two drop out, at any stage") {
  Attempt keys(five());
  Roster two = keys.advertise();
  two.adverts.resize(2);
  CHECK_FAILURE(keys.clients[0].share(two), "client 0", "2 clients", "3");
  Attempt shares(five());
  shares.share();
  Delivery delivery = shares.coordinator.delivery(0);
  delivery.sharers = {0, 1};
  delivery.boxes.resize(1);
  CHECK_FAILURE(shares.clients[0].mask(delivery, input_of(shares.session, 0)), "client 0", "2 clients", "3");
  Attempt inputs(five());
  inputs.mask({0, 1, 2, 3, 4});
  CHECK_FAILURE(inputs.clients[0].agree(list_of(inputs, {0, 1})), "client 0", "2 survivors", "3");
  Attempt signatures(five());
  signatures.agree({0, 1, 2, 3, 4});
  signatures.agreements.clients.resize(2);
  CHECK_FAILURE(signatures.clients[0].open(signatures.agreements, std::nullopt), "client 0", "2 clients", "3");
}

TEST_CASE("two lists of survivors cannot both be signed by enough") {
  Attempt attempt(five());
  attempt.mask({0, 1, 2, 3, 4});
  const Survivors one = list_of(attempt, {0, 1, 2, 4}), other = list_of(attempt, {0, 1, 3, 4});
  Agreements mixed;
  for (const ClientId client : {0U, 1U, 4U}) mixed.clients.push_back(attempt.clients[client].agree(client == 1 ? other : one));
  CHECK_FAILURE(attempt.clients[0].open(mixed, std::nullopt), "client 0", "client 1", "another list");
  Agreements doubled;
  doubled.clients = {mixed.clients[0], mixed.clients[0], mixed.clients[2]};
  CHECK_FAILURE(attempt.clients[4].open(doubled, std::nullopt), "client 4", "twice");
}

// One client is told that only some shared, so that it masks with these alone; they are then claimed as dropped to the others.
TEST_CASE("a client that was told of other sharers is no survivor to anybody else") {
  Attempt attempt(five());
  attempt.share();
  Delivery told = attempt.coordinator.delivery(0);
  told.sharers = {0, 3, 4};
  std::erase_if(told.boxes, [](const auto& box) { return box.client < 3; });
  const Masked victim = attempt.clients[0].mask(told, input_of(attempt.session, 0));
  CHECK_FAILURE(attempt.coordinator.take(victim), "client 0", "another list");
  Survivors list{.clients = {{0, victim.signature}}};
  for (const ClientId client : {1U, 2U})
    list.clients.push_back(
        {client,
         attempt.clients[client].mask(attempt.coordinator.delivery(client), input_of(attempt.session, client)).signature});
  CHECK_FAILURE(attempt.clients[1].agree(list), "client 1", "client 0", "sharers");
}

TEST_CASE("a neighbor whose shares do not open is named, and the sum is right if enough others hold its shares") {
  for (const bool survives : {true, false}) {
    for (const int how : {0, 1}) {
      Attempt attempt(five());
      attempt.share();
      const std::vector<ClientId> left = survives ? attempt.everyone() : std::vector<ClientId>{0, 2, 3, 4};
      for (const ClientId client : left) {
        Delivery delivery = attempt.coordinator.delivery(client);
        if (client == 2 && how == 0) delivery.boxes[1].box[20] ^= 1;
        if (client == 2 && how == 1) delivery.boxes[1].box = delivery.boxes[0].box;
        attempt.coordinator.take(attempt.clients[client].mask(delivery, input_of(attempt.session, client)));
      }
      CHECK(attempt.clients[2].unopened() == std::vector<ClientId>{1});
      CHECK(attempt.clients[0].unopened().empty());
      const Survivors survivors = attempt.coordinator.survivors();
      for (const ClientId client : left) attempt.coordinator.take(attempt.clients[client].agree(survivors));
      const Agreements agreements = attempt.coordinator.agreements();
      for (const ClientId client : left) attempt.coordinator.take(attempt.clients[client].open(agreements, std::nullopt).shares);
      std::vector<std::string> remarks;
      CHECK(attempt.coordinator.sum(remarks) == central_sum(attempt.session, left));
      REQUIRE(remarks.size() == 1);
      CHECK(names(remarks[0], {"client 2 gave no share of client 1", "could not be decrypted"}));
    }
  }
}

TEST_CASE("one client whose shares open nowhere ends the attempt, by name, and forces nobody out; too few that open do") {
  Attempt attempt(five());
  attempt.share();
  for (const ClientId client : attempt.everyone()) {
    Delivery delivery = attempt.coordinator.delivery(client);
    for (Shares::Sealed& one : delivery.boxes)
      if (one.client == 1) one.box[3] ^= 1;
    attempt.coordinator.take(attempt.clients[client].mask(delivery, input_of(attempt.session, client)));
  }
  const Survivors survivors = attempt.coordinator.survivors();
  // Its neighbors look at its signature all the same.
  Survivors forged = survivors;
  forged.clients[1].signature[0] ^= 1;
  CHECK_FAILURE(attempt.clients[4].agree(forged), "client 4", "client 1", "signed other keys");
  for (const ClientId client : {0U, 1U, 2U, 3U}) attempt.coordinator.take(attempt.clients[client].agree(survivors));
  const Agreements agreements = attempt.coordinator.agreements();
  for (const ClientId client : {0U, 1U, 2U, 3U})
    attempt.coordinator.take(attempt.clients[client].open(agreements, std::nullopt).shares);
  std::vector<std::string> remarks;
  CHECK_FAILURE(attempt.coordinator.sum(remarks), "round 7", "seed", "client 1", "1 share");
  CHECK(remarks.size() == 3);

  Attempt few(five());
  few.share();
  Delivery delivery = few.coordinator.delivery(2);
  for (const std::size_t i : {0U, 1U, 3U}) delivery.boxes[i].box[20] ^= 1;
  CHECK_FAILURE(few.clients[2].mask(delivery, input_of(few.session, 2)), "client 2", "only 2", "shares that can be decrypted",
                "3");
}

TEST_CASE("shares that are withheld, or sent twice, end the client's part") {
  for (const int how : {0, 1, 2}) {
    Attempt attempt(five());
    attempt.share();
    Delivery delivery = attempt.coordinator.delivery(2);
    if (how == 0) delivery.boxes.erase(delivery.boxes.begin() + 1);
    if (how > 0) delivery.boxes.insert(delivery.boxes.begin() + 1, delivery.boxes[1]);
    if (how == 2) delivery.boxes[1].box[3] ^= 1, delivery.boxes[2].box[3] ^= 1;
    CHECK_FAILURE(attempt.clients[2].mask(delivery, input_of(attempt.session, 2)), "client 2", "client 1");
    // Nor does it mask the same input under the same keys again.
    CHECK_FAILURE(attempt.clients[2].mask(attempt.coordinator.delivery(2), input_of(attempt.session, 2)), "client 2", "twice");
  }
}

TEST_CASE("clients that send twice, out of turn, or what is not theirs") {
  Attempt attempt(five());
  const Advert again = attempt.advertise().adverts[2];
  CHECK_FAILURE(attempt.coordinator.take(again), "client 2", "late");
  Attempt second(five());
  const Advert advert = second.clients[2].advertise();
  second.coordinator.take(advert);
  CHECK_FAILURE(second.coordinator.take(advert), "client 2", "twice");
  Advert forged = second.clients[3].advertise();
  forged.client = 4;
  CHECK_FAILURE(second.coordinator.take(forged), "client 4", "sign");

  Shares shares = attempt.clients[0].share(attempt.roster);
  Shares fewer = shares, stranger = shares;
  fewer.boxes.pop_back();
  stranger.boxes[1].client = 0;
  CHECK_FAILURE(attempt.coordinator.take(fewer), "client 0", "neighbors");
  CHECK_FAILURE(attempt.coordinator.take(stranger), "client 0", "neighbors");
  attempt.coordinator.take(shares);
  CHECK_FAILURE(attempt.coordinator.take(shares), "client 0", "twice");

  Attempt third(five());
  third.share();
  const Masked masked = third.clients[1].mask(third.coordinator.delivery(1), input_of(third.session, 1));
  Masked longer = masked;
  longer.input = Ring(9, 128);
  CHECK_FAILURE(third.coordinator.take(longer), "client 1", "9 numbers", "8");
  third.coordinator.take(masked);
  CHECK_FAILURE(third.coordinator.take(masked), "client 1", "twice");
}

TEST_CASE("shares of others, of the wrong kind or twice are refused; a wrong one is found, or the round ends in one line") {
  Attempt attempt(five());
  attempt.agree({0, 1, 2, 3});
  std::vector<Unmasking> given;
  for (const ClientId client : {0U, 1U, 2U, 3U})
    given.push_back(attempt.clients[client].open(attempt.agreements, std::nullopt).shares);
  Unmasking wrong_kind = given[0], missing = given[0], stranger = given[0];
  wrong_kind.shares[1].of_seed = false;
  missing.shares.erase(missing.shares.begin());  // its own
  stranger.shares.back().owner = 9;
  Unmasking doubled = given[0];
  doubled.shares[2] = doubled.shares[1];
  CHECK_FAILURE(attempt.coordinator.take(wrong_kind), "client 0", "client 1", "kind");
  CHECK_FAILURE(attempt.coordinator.take(missing), "client 0");
  CHECK_FAILURE(attempt.coordinator.take(stranger), "client 0", "client 9");
  CHECK_FAILURE(attempt.coordinator.take(doubled), "client 0", "one share");
  CHECK_FAILURE(attempt.coordinator.take(Unmasking{.client = 4}), "client 4", "survivor");

  given[1].shares[0].value.bytes[7] ^= 1;  // of the seed of client 0
  for (const Unmasking& one : given) attempt.coordinator.take(one);
  CHECK_FAILURE(attempt.coordinator.take(given[2]), "client 2", "twice");
  std::vector<std::string> remarks;
  CHECK(attempt.coordinator.sum(remarks) == central_sum(attempt.session, {0, 1, 2, 3}));
  REQUIRE(remarks.size() == 1);
  CHECK(names(remarks[0], {"client 1", "client 0", "seed"}));

  Attempt scarce(five());
  scarce.agree({0, 1, 2, 3});
  for (const ClientId client : {0U, 1U, 2U}) {
    Unmasking one = scarce.clients[client].open(scarce.agreements, std::nullopt).shares;
    if (client == 1) one.shares[4].value.bytes[7] ^= 1;  // of the mask key of client 4
    scarce.coordinator.take(one);
  }
  CHECK_FAILURE(scarce.coordinator.sum(remarks), "round 7", "mask key", "client 4");
}

}  // namespace fedstride::test::attacks_test
