// A coordinator that cheats at secure aggregation: the test plays it and all clients but one, which is honest and a process.
#include <functional>

#include "nn/model.hpp"
#include "secagg/client.hpp"
#include "secagg/coordinator.hpp"
#include "server/secure_sum.hpp"
#include "sim/net/secure_attempt.hpp"
#include "sim/parties/terms.hpp"
#include "sim/settings/rules.hpp"
#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_secure_coordinator_test {
namespace {

constexpr ClientId kClients = 4;

const Words kNoise{"--dp", "client", "--clip", "0.5", "--noise-multiplier", "1", "--client-noise", "distributed"};

secagg::Secret key_of(ClientId client) { return secagg::Secret(Hash().text("key").value(client).digest()); }

/// The experiment of an honest coordinator that has ended, and its request in round 1.
struct Scene {
  Federation federation;
  Introduction known;
  ModelMessage model;
  Train train;
  SecureRules rules;

  explicit Scene(Words more = {}) : federation(words(std::move(more)), static_cast<int>(kClients)) {
    const Party coordinator = federation.serve();
    known = introduce(federation, 0);
    const FalseClient asked(federation.port(), known);
    model = asked.model;
    train = asked.train;
    REQUIRE(train.round == 1);
    Configuration configuration = resolve(parse_settings(known.welcome.settings, "test"));
    configuration.data = federation / "data";
    rules = *prepare_member(configuration, 0, known.welcome).rules.sum.secure;
  }
  static Words words(Words all) {
    all.insert(all.end(), {"--optimizer", "sgd", "--rounds", "2", "--secure-aggregation", "real", "--secure-dropouts", "0.3"});
    return all;
  }
};

/// The honest client, trained, and an attempt at round 1 in which the test plays the others honestly up to a step.
class Captive {
 public:
  explicit Captive(const Scene& of, const Words& more = {}) : scene_(of), party(words(of, port_of(listener_.get()), more)) {
    peer = std::make_unique<Peer>(Socket(accept(listener_.get(), nullptr, nullptr)));
    CHECK(peer->hear<Hello>());
    peer->say(scene_.known.welcome);
    ready = peer->hear<Ready>().value_or(Ready{});
    if (ready.signing_key.size() != 64) return;
    peer->say(scene_.model);
    peer->say(scene_.train);
    const auto update = peer->hear<UpdateMessage>();
    REQUIRE(update);
    CHECK(update->change.size() == 0);
    CHECK(update->report.steps == 0);
  }

  secagg::Invitation invitation() const {
    secagg::Invitation all{.planned = kClients};
    secagg::Bytes32 own{};
    const std::string key = from_hex(ready.signing_key);
    std::copy(key.begin(), key.end(), own.begin());
    all.members.push_back({{0, own}});
    for (ClientId client = 1; client < kClients; ++client)
      all.members.push_back({{client, secagg::verifying_key(key_of(client))}});
    return all;
  }
  /// Begins an attempt: the honest client's keys are there, the others' are made for `session`.
  void invite(std::uint32_t attempt = 1) {
    const std::size_t size = Model::parse("logistic", {1, 1, 3}, 3).size();
    session = secure_session(scene_.rules, 1, scene_.train.model_hash, scene_.train.told, kClients,
                             SecureSum(scene_.rules, 1, size).length());
    for (const auto& one : invitation().members) session.cohort.push_back(one.member);
    coordinator.emplace(session);
    others.clear();
    for (ClientId client = 1; client < kClients; ++client)
      others.push_back(std::make_unique<secagg::Client>(
          session, client, key_of(client), secagg::Secret(Hash().text("random").value(client).value(attempt).digest())));
    number = attempt;
    say(0, secagg::encoded(invitation()));
    coordinator->take(hear<secagg::Advert>());
    for (const auto& other : others) coordinator->take(other->advertise());
    roster = coordinator->roster();
  }
  void share() {
    say(1, secagg::encoded(roster));
    coordinator->take(hear<secagg::Shares>());
    for (const auto& other : others) coordinator->take(other->share(roster));
    coordinator->end_sharing();
  }
  /// Only the first of the others send their inputs.
  void mask(std::size_t inputs = kClients - 1) {
    say(2, secagg::encoded(coordinator->delivery(0)));
    mask_others(inputs);
  }
  void mask_others(std::size_t inputs = kClients - 1) {
    const auto masked = peer->hear<MaskedMessage>();
    REQUIRE(masked);
    coordinator->take(secagg::decode<secagg::Masked>(masked->message));
    for (ClientId client = 1; client <= inputs; ++client)
      coordinator->take(others[client - 1]->mask(coordinator->delivery(client), secagg::Ring(session.length, session.bits)));
    survivors = coordinator->survivors();
  }
  void agree() {
    say(3, secagg::encoded(survivors));
    coordinator->take(hear<secagg::Agreement>());
    for (ClientId client = 1; client < survivors.clients.size(); ++client)
      coordinator->take(others[client - 1]->agree(survivors));
    agreements = coordinator->agreements();
  }

  void say(std::uint32_t stage, const std::string& message) const { peer->say(SecureMessage{1, number, stage, message}); }
  template <class Message>
  Message hear() const {
    const auto answer = peer->hear<SecuredMessage>();
    REQUIRE(answer);
    return secagg::decode<Message>(answer->message);
  }
  /// It tells the coordinator why, and ends with exit code 1 and that line.
  template <class... Parts>
  void check_left(const Parts&... parts) {
    const auto refused = peer->hear<Refused>();
    REQUIRE_MESSAGE(refused, party.err());
    CHECK_MESSAGE(names(refused->reason, {"round 1", "client 0 refuses"}), refused->reason);
    peer->hang_up();
    CHECK(party.wait() == 3);
    CHECK_MESSAGE(party.has_said("fedstride: ", parts...), party.err());
  }

  static std::string from_hex(const std::string& text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); i += 2) bytes += static_cast<char>(std::stoul(text.substr(i, 2), nullptr, 16));
    return bytes;
  }

 private:
  static Words words(const Scene& scene, std::uint16_t port, const Words& more) {
    Words all = scene.federation.join_words(0, port);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  const Scene& scene_;
  Socket listener_ = listening(0);

 public:
  Party party;
  std::unique_ptr<Peer> peer;
  Ready ready;
  secagg::Session session;
  std::optional<secagg::Coordinator> coordinator;
  std::vector<std::unique_ptr<secagg::Client>> others;
  std::uint32_t number = 1;
  secagg::Roster roster;
  secagg::Survivors survivors;
  secagg::Agreements agreements;
};

}  // namespace

TEST_CASE("another list of survivors in another attempt at the round is refused, after a restart as well; the same list is not") {
  for (const bool has_noise : {false, true}) {
    const Scene scene(has_noise ? kNoise : Words{});
    const auto up_to_agreement = [](Captive& captive, std::uint32_t attempt, std::size_t inputs) {
      captive.invite(attempt);
      captive.share();
      captive.mask(inputs);
      captive.agree();
      captive.say(4, secagg::encoded(captive.agreements));
    };
    {
      Captive captive(scene);
      up_to_agreement(captive, 1, 3);
      CHECK(captive.hear<secagg::Unmasking>().shares.size() == kClients);
      up_to_agreement(captive, 2, 3);  // fresh masks, the same list
      CHECK(captive.hear<secagg::Unmasking>().shares.size() == kClients);
      captive.party.kill();
    }
    Captive captive(scene);
    up_to_agreement(captive, 3, 2);
    captive.check_left("another list of survivors");
  }
}

TEST_CASE("with noise in shares, neither a list of fewer survivors than are accounted for is signed, nor a share given for it") {
  Words settings = kNoise;
  settings.insert(settings.end(), {"--minimum-survivors", "4"});
  const Scene scene(settings);
  for (const bool signs : {false, true}) {
    std::filesystem::remove_all(scene.federation.client_folder(0));
    Captive captive(scene);
    captive.invite();
    captive.share();
    captive.mask();
    if (signs) {
      captive.agree();
      captive.agreements.clients.pop_back();
      captive.say(4, secagg::encoded(captive.agreements));
    } else {
      captive.survivors.clients.pop_back();
      captive.say(3, secagg::encoded(captive.survivors));
    }
    captive.check_left(signs ? "3 clients signed" : "3 survivors", "4");
    CHECK_FALSE(std::filesystem::exists(scene.federation.client_folder(0) + "/survivors"));
  }
}

TEST_CASE("a neighbor's shares that do not open are named in the log, and the honest client goes on without them") {
  const Scene scene;
  Captive captive(scene);
  captive.invite();
  captive.share();
  auto delivery = captive.coordinator->delivery(0);
  delivery.boxes[1].box[0] ^= 1;
  captive.say(2, secagg::encoded(delivery));
  captive.mask_others();
  CHECK(captive.party.says("round 1", "shares of client 2", "do not open"));
  captive.agree();
  captive.say(4, secagg::encoded(captive.agreements));
  const auto given = captive.hear<secagg::Unmasking>();
  CHECK(given.shares.size() == kClients - 1);
  for (const auto& share : given.shares) CHECK(share.owner != 2);
  captive.coordinator->take(given);
}

TEST_CASE("each way to cheat is refused by name, and nothing more is sent") {
  const Scene scene;
  struct Cheat {
    std::string_view says;
    std::function<void(Captive&)> act;
  };
  const std::vector<Cheat> cheats{
      {"2 clients were drawn",
       [](Captive& captive) {
         auto few = captive.invitation();
         few.planned = 2;
         few.members.resize(2);
         captive.say(0, secagg::encoded(few));
       }},
      {"does not list it with its key",
       [](Captive& captive) {
         auto other = captive.invitation();
         other.members[0].member.key[0] ^= 1;
         captive.say(0, secagg::encoded(other));
       }},
      {"are not signed with its key",  // swapped keys
       [](Captive& captive) {
         captive.invite();
         captive.roster.adverts[2].mask_key = secagg::public_key(key_of(9));
         captive.say(1, secagg::encoded(captive.roster));
       }},
      {"received another model",
       [](Captive& captive) {
         captive.invite();
         secagg::Session other = captive.session;
         other.model[0] ^= 1;
         secagg::Client victim(other, 2, key_of(2), key_of(8));
         captive.roster.adverts[2] = victim.advertise();
         captive.say(1, secagg::encoded(captive.roster));
       }},
      {"only 2 clients sent keys",
       [](Captive& captive) {
         captive.invite();
         captive.roster.adverts.resize(2);
         captive.say(1, secagg::encoded(captive.roster));
       }},
      {"does not contain its own keys",
       [](Captive& captive) {  // a replayed roster
         captive.invite(1);
         const secagg::Roster first = captive.roster;
         captive.invite(2);
         captive.say(1, secagg::encoded(first));
       }},
      {"only 2 sent shares that can be decrypted",
       [](Captive& captive) {
         captive.invite();
         captive.share();
         auto delivery = captive.coordinator->delivery(0);
         delivery.boxes[0].box[0] ^= 1;
         delivery.boxes[1].box[0] ^= 1;
         captive.say(2, secagg::encoded(delivery));
       }},
      {"leaves it out",
       [](Captive& captive) {
         captive.invite();
         captive.share();
         captive.mask();
         captive.survivors.clients.erase(captive.survivors.clients.begin());
         captive.say(3, secagg::encoded(captive.survivors));
       }},
      {"2 survivors",
       [](Captive& captive) {
         captive.invite();
         captive.share();
         captive.mask();
         captive.survivors.clients.resize(2);
         captive.say(3, secagg::encoded(captive.survivors));
       }},
      {"signed another list of survivors",
       [](Captive& captive) {
         captive.invite();
         captive.share();
         captive.mask();
         captive.agree();
         captive.agreements.clients[3].signature[0] ^= 1;
         captive.say(4, secagg::encoded(captive.agreements));
       }},
      {"twice or out of order",
       [](Captive& captive) {
         captive.invite();
         captive.share();
         captive.say(1, secagg::encoded(captive.roster));
       }},
  };
  for (const Cheat& cheat : cheats) {
    CAPTURE(cheat.says);
    std::filesystem::remove_all(scene.federation.client_folder(0));
    Captive captive(scene);
    cheat.act(captive);
    captive.check_left(cheat.says);
  }
}

TEST_CASE("a list longer than the number of clients that were drawn is refused by name, whatever draws them") {
  const std::pair<Words, std::string_view> settings[] = {
      {{}, "with cohort 'all' it must be 4"},
      {{"--cohort", "fixed", "--cohort-size", "4"}, "with cohort 'fixed' it must be 4"},
      {{"--cohort", "poisson", "--cohort-rate", "0.9"}, "the cohort lists 4 clients; it must list at most the 3"},
      {{"--dp", "example", "--clip", "1", "--noise-multiplier", "1"}, "the cohort lists 4 clients; it must list at most the 3"}};
  for (const auto& [words, says] : settings) {
    CAPTURE(says);
    const Scene scene(words);
    Captive captive(scene);
    auto few = captive.invitation();
    few.planned = 3;
    captive.say(0, secagg::encoded(few));
    captive.check_left(says);
  }
}

TEST_CASE("another client's keys of small order are named in the log, and the honest client takes part in the next attempt") {
  const Scene scene;
  Captive captive(scene);
  captive.invite(1);
  secagg::Advert& advert = captive.roster.adverts[2];
  advert.share_key = {};
  advert.signature = secagg::sign(key_of(2), secagg::advert_text(advert));
  captive.say(1, secagg::encoded(captive.roster));
  CHECK(captive.party.says("round 1", "client 2 sent a key of small order", "takes no part in this attempt"));
  captive.invite(2);
  captive.share();
  captive.mask();
  captive.agree();
  captive.say(4, secagg::encoded(captive.agreements));
  CHECK(captive.hear<secagg::Unmasking>().shares.size() == kClients);
}

TEST_CASE("the number of clients drawn is the round's: another one in the next attempt is refused") {
  const Scene scene({"--cohort", "poisson", "--cohort-rate", "0.9"});
  Captive captive(scene);
  captive.invite(1);
  captive.number = 2;
  auto fewer = captive.invitation();
  fewer.planned = 3;
  fewer.members.pop_back();
  captive.say(0, secagg::encoded(fewer));
  captive.check_left("3 clients were drawn", "it must be 4");
}

TEST_CASE("a client that insists on secure aggregation leaves an experiment without it") {
  const Federation federation({"--optimizer", "sgd", "--rounds", "2"});
  const Party coordinator = federation.serve();
  Words words = federation.join_words(0);
  words.push_back("--require-secure");
  const Party client(words);
  CHECK(client.wait() == 1);
  CHECK(client.has_said("require-secure", "secure-aggregation 'none'"));
}

}  // namespace fedstride::test::network_secure_coordinator_test
