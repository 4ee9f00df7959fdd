// Secure aggregation between a coordinator and clients that the test plays: drop-outs at each stage, and clients that lie.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>

#include "core/hash.hpp"
#include "core/seconds_since.hpp"
#include "core/text.hpp"
#include "secagg/client.hpp"
#include "server/secure_sum.hpp"
#include "sim/net/networked_fleet.hpp"
#include "sim/net/secure_attempt.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/peer.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::secure_rounds_test {
namespace {

constexpr std::size_t kSize = 8;
constexpr int kNever = 6;

secagg::Secret key_of(ClientId client) { return secagg::Secret(Hash().text("key").value(client).digest()); }

Vector change_of(ClientId client) {
  Vector change(kSize);
  for (std::size_t i = 0; i < kSize; ++i) change[i] = static_cast<float>(client + 1) / 8 - static_cast<float>(i) / 32;
  return change;
}

SumRules rules_for(ClientId clients) {
  SumRules rules;
  for (ClientId client = 0; client < clients; ++client) rules.weights.push_back(client + 1);
  rules.secure = SecureRules{.masks = true, .dropouts = {0.4}};
  return rules;
}

/// The mean of some clients' changes, in the clear.
Vector mean_of(const SumRules& with, const std::vector<ClientId>& clients) {
  SumRules rules = with;
  rules.secure.reset();
  Accumulator updates(rules, 1, clients, kSize);
  for (const ClientId client : clients) {
    const Vector change = change_of(client);
    updates.add({ClientReport{.client = client}, view(change)});
  }
  return std::move(updates).release().mean().value_or(Vector());
}

/// An honest client, one step at a time.
class Honest {
 public:
  Honest(ClientId client, std::uint16_t port, const SumRules& rules, std::uint32_t planned)
      : peer(calling(port)), client_(client), planned_(planned), rules_(rules) {
    peer.say(Hello{client, build_identity()});
    peer.hear<Welcome>();
    peer.say(Ready{"data", "rows", 10, 0, false, 0, hex_of(secagg::verifying_key(key_of(client)))});
  }
  /// Trains when it is asked to.
  void train() {
    const auto model = peer.hear<ModelMessage>();
    const auto train = peer.hear<Train>();
    REQUIRE(train);
    train_ = *train;
    const Vector change = change_of(client_);
    Accumulator own(rules_, train_.round, std::span(&client_, 1), kSize);
    own.secure({}, true);
    own.add({ClientReport{.client = client_, .rows = 10}, view(change)});
    input_ = own.secured()->ring();
    UpdateMessage update{.round = train_.round, .model_hash = train_.model_hash, .report = own.reports().front(), .change = {}};
    peer.say(update);
  }
  /// Its answer to the next stage, not yet sent: of stage 0 to 4, its own 1 to 5.
  std::optional<std::string> answer() {
    const auto asked = peer.hear<SecureMessage>();
    if (!asked) return std::nullopt;
    asked_ = *asked;
    if (asked_.stage == 0) {
      session_ = std::make_unique<secagg::Session>(
          secure_session(*rules_.secure, train_.round, train_.model_hash, train_.told, planned_, input_.size()));
      for (const auto& one : secagg::decode<secagg::Invitation>(asked_.message).members) session_->cohort.push_back(one.member);
      self_ =
          std::make_unique<secagg::Client>(*session_, client_, key_of(client_),
                                           secagg::Secret(Hash().text("random").value(client_).value(asked_.attempt).digest()));
      return secagg::encoded(self_->advertise());
    }
    if (asked_.stage == 1) return secagg::encoded(self_->share(secagg::decode<secagg::Roster>(asked_.message)));
    if (asked_.stage == 2) return secagg::encoded(self_->mask(secagg::decode<secagg::Delivery>(asked_.message), input_));
    if (asked_.stage == 3) return secagg::encoded(self_->agree(secagg::decode<secagg::Survivors>(asked_.message)));
    const auto opening = self_->open(secagg::decode<secagg::Agreements>(asked_.message), std::nullopt);
    return secagg::encoded(opening.shares);
  }
  void send(const std::string& message) const { send(message, asked_.stage + 1); }
  void send(const std::string& message, std::uint32_t stage) const {
    if (stage == 3)
      peer.say(MaskedMessage{asked_.round, asked_.attempt, message});
    else
      peer.say(SecuredMessage{asked_.round, asked_.attempt, stage, message});
  }
  bool is_at(std::uint32_t stage) const { return asked_.stage == stage; }
  const SecureMessage& asked() const { return asked_; }

  Peer peer;

 private:
  ClientId client_;
  std::uint32_t planned_;
  const SumRules& rules_;
  Train train_;
  secagg::Ring input_{0, 128};
  SecureMessage asked_;
  std::unique_ptr<secagg::Session> session_;
  std::unique_ptr<secagg::Client> self_;
};

/// A coordinator with a round of secure aggregation.
struct Scene {
  explicit Scene(ClientId all, RoundTerms round = {}) : clients(all), rules(rules_for(all)), deadline(round.deadline) {
    FederationTerms terms{.welcome = {build_identity(), "", "e"},
                          .data_hash = "data",
                          .roster = std::vector<RosterEntry>(all, {10, "rows"}),
                          .packings = {Packing(kSize), Packing(kSize)},
                          .secure = true};
    fleet = std::make_unique<NetworkedFleet>(
        std::move(terms),
        ReceptionRules{.listen = {"127.0.0.1", 0},
                       .transport = Transport::plain(),
                       .authenticated = false,
                       .heartbeat = std::chrono::seconds(60)},  // longer than a peer waits for a message
        round, [](auto&&...) { return std::string(); },
        [this](const std::string& line) {
          const std::lock_guard lock(mutex);
          log += line + "\n";
        });
    fleet->stop_when(&is_over);
    coordinator = std::async(std::launch::async, [this] {
      std::vector<ClientId> cohort;
      for (ClientId client = 0; client < clients; ++client) cohort.push_back(client);
      const Vector model(kSize, 1);
      Accumulator updates(rules, 1, cohort, kSize);
      updates.secure(model, true);
      fleet->collect(Task{.round = 1, .model = model}, cohort, updates);
      updates.unmask();
      reports = updates.reports();
      return std::move(updates).release().mean().value_or(Vector());
    });
    for (ClientId client = 0; client < clients; ++client)
      honest.push_back(std::make_unique<Honest>(client, fleet->port(), rules, clients));
  }
  /// A test that has failed ends its coordinator too.
  ~Scene() { is_over = true; }
  std::string said() {
    const std::lock_guard lock(mutex);
    return log;
  }
  bool says(const std::string& part) {
    for (int i = 0; i < 20000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(1)))
      if (said().find(part) != std::string::npos) return true;
    return false;
  }
  void train_all() {
    for (const auto& one : honest) one->train();
  }
  void pass_deadline() const { std::this_thread::sleep_for(std::chrono::duration<double>(deadline + 0.03)); }
  /// One stage of everybody who is there.
  void step() {
    for (const auto& one : honest) {
      if (!one) continue;
      if (const auto message = one->answer()) one->send(*message);
    }
  }

  /// A client comes back, trains, and takes part in the next attempt with these, who may have a stage of the last one before them.
  void come_back(ClientId client, std::initializer_list<ClientId> others) {
    honest[client] = std::make_unique<Honest>(client, fleet->port(), rules, clients);
    honest[client]->train();
    for (const ClientId other : others) {
      auto message = honest[other]->answer();
      while (message && !honest[other]->is_at(0)) message = honest[other]->answer();
      honest[other]->send(message.value());
    }
    honest[client]->send(honest[client]->answer().value());
    for (int stage = 1; stage < 5; ++stage) step();
  }

  ClientId clients;
  SumRules rules;
  double deadline;
  std::atomic<bool> is_over{false};
  std::mutex mutex;
  std::string log;
  std::vector<ClientReport> reports;
  std::unique_ptr<NetworkedFleet> fleet;
  std::future<Vector> coordinator;
  std::vector<std::unique_ptr<Honest>> honest;
};

/// A deadline that clients keep on this machine, however busy it is: ten times what a whole round takes, in seconds.
double kept_deadline() {
  static const double kSeconds = [] {
    const auto since = std::chrono::steady_clock::now();
    Scene scene(5);
    scene.train_all();
    for (int stage = 0; stage < 5; ++stage) scene.step();
    scene.coordinator.get();
    return std::clamp(10 * seconds_since(since), 0.05, 10.0);
  }();
  return kSeconds;
}

}  // namespace

TEST_CASE("the sum is that of the updates in the clear, and reports say nothing of a client") {
  Scene scene(3);
  scene.train_all();
  for (int stage = 0; stage < 5; ++stage) scene.step();
  CHECK(scene.coordinator.get() == mean_of(scene.rules, {0, 1, 2}));
  REQUIRE(scene.reports.size() == 3);
  for (const ClientReport& report : scene.reports) {
    CHECK(report.failure.empty());
    CHECK(std::isnan(report.update_norm));
    CHECK(report.examples == 0);
  }
}

TEST_CASE("drop-outs before each message: the round goes on above the minimum once it is overdue") {
  for (int leaves = 0; leaves < 5; ++leaves) {
    CAPTURE(leaves);
    Scene scene(5, {.deadline = kept_deadline(), .minimum_clients = 3});
    for (ClientId client = 0; client < 4; ++client) scene.honest[client]->train();
    if (leaves > 0) scene.honest[4]->train();
    scene.pass_deadline();
    for (int stage = 0; stage < 5; ++stage) {
      if (stage + 1 == leaves || (leaves == 0 && stage == 0)) scene.honest[4]->peer.hang_up(), scene.honest[4].reset();
      scene.step();
    }
    const bool has_input = leaves > 3;
    CHECK(scene.coordinator.get() ==
          mean_of(scene.rules, has_input ? std::vector<ClientId>{0, 1, 2, 3, 4} : std::vector<ClientId>{0, 1, 2, 3}));
    CHECK(scene.reports.size() == (has_input ? 5 : 4));
  }
}

TEST_CASE("a client that is silent in a stage has dropped out after its deadline") {
  Scene scene(5, {.stage_deadline = kept_deadline()});
  scene.train_all();
  scene.step();
  for (ClientId client = 0; client < 4; ++client) scene.honest[client]->send(scene.honest[client]->answer().value());
  scene.honest[4]->answer();
  CHECK(scene.says("client 4 sent nothing in the stage of shares within " + number_text(kept_deadline()) + " s"));
  scene.honest.pop_back();
  for (int stage = 2; stage < 5; ++stage) scene.step();
  CHECK(scene.coordinator.get() == mean_of(scene.rules, {0, 1, 2, 3}));
}

TEST_CASE("below the minimum nothing is revealed, and the round waits for those it lost, also past its deadline") {
  for (const int stage : {0, 1, 2, 3}) {
    CAPTURE(stage);
    Scene scene(5, {.deadline = kept_deadline(), .stage_deadline = 60});
    for (ClientId client = 0; client < 5; ++client)
      if (stage > 0 || client < 2) scene.honest[client]->train();
    scene.pass_deadline();
    for (int at = 0; at < stage; ++at) scene.step();
    for (ClientId client = 2; client < 5; ++client) scene.honest[client]->peer.hang_up(), scene.honest[client].reset();
    if (stage > 0) {
      for (ClientId client = 0; client < 2; ++client)
        if (const auto message = scene.honest[client]->answer()) scene.honest[client]->send(*message);
      CHECK(scene.says("secure aggregation needs 3, and nothing is revealed; another attempt begins as soon as possible"));
    } else {
      CHECK(scene.says("past its deadline with answers from 2 of 5 clients; it continues until 3 have answered"));
    }
    scene.come_back(3, {0, 1});
    CHECK(scene.coordinator.get() == mean_of(scene.rules, {0, 1, 3}));
  }
}

TEST_CASE("too few clients are left to unmask a list that has been signed: the round ends without a sum, and nobody has failed") {
  Scene scene(5, {.deadline = kept_deadline(), .stage_deadline = 60});
  scene.train_all();
  scene.pass_deadline();
  for (int at = 0; at < 4; ++at) scene.step();
  for (ClientId client = 2; client < 5; ++client) scene.honest[client]->peer.hang_up(), scene.honest[client].reset();
  for (ClientId client = 0; client < 2; ++client)
    if (const auto message = scene.honest[client]->answer()) scene.honest[client]->send(*message);
  CHECK(scene.coordinator.get() == Vector());
  CHECK(scene.reports.empty());
  CHECK(scene.says("the coordinator has 2 shares; 3 are needed; the round ends without a sum"));
}

TEST_CASE("without a deadline, a client that is lost before its input comes back to another attempt") {
  Scene scene(3);
  scene.train_all();
  for (int stage = 0; stage < 2; ++stage) scene.step();
  scene.honest[1]->peer.hang_up();
  CHECK(scene.says("client 1 left before its masked input arrived; another attempt begins as soon as possible"));
  scene.come_back(1, {0, 2});
  CHECK(scene.coordinator.get() == mean_of(scene.rules, {0, 1, 2}));
}

TEST_CASE("a round that was unmasked before is repeated over the same list only") {
  const TemporaryFolder folder;
  const RoundTerms terms{.deadline = kept_deadline(), .minimum_clients = 3, .survivors = folder.path() / "survivors"};
  const auto without_last = [&](Scene& scene) {
    for (ClientId client = 0; client < 4; ++client) scene.honest[client]->train();
    scene.pass_deadline();
  };
  Vector first;
  {
    Scene scene(5, terms);
    without_last(scene);
    scene.honest.pop_back();
    for (int stage = 0; stage < 5; ++stage) scene.step();
    first = scene.coordinator.get();
  }
  // The same round by a coordinator that has lost its result, with the fifth client there.
  Scene scene(5, terms);
  CHECK(scene.says("round 1 was unmasked before, without 1 client"));
  without_last(scene);
  scene.honest.pop_back();
  for (int stage = 0; stage < 5; ++stage) scene.step();
  CHECK(scene.coordinator.get() == first);
  CHECK(first == mean_of(scene.rules, {0, 1, 2, 3}));
}

TEST_CASE("clients that lie are refused by name, and drop out") {
  struct Lie {
    int stage;  ///< of the client's message, 1 to 5
    std::vector<std::string_view> parts;
    std::function<void(Honest&, std::string)> tell;
  };
  const auto of_client = [](const std::string& message, ClientId client) {
    std::string other = message;
    other[0] = static_cast<char>(client);
    return other;
  };
  const std::vector<Lie> lies{
      {1, {"client 4", "message from client 1"}, [&](Honest& liar, const std::string& m) { liar.send(of_client(m, 1)); }},
      {1, {"message", "damaged"}, [](Honest& liar, const std::string& m) { liar.send(m.substr(1)); }},
      {1, {"client 4", "round 9"}, [](Honest& liar, std::string m) { m[4] = 9, liar.send(m); }},
      {1, {"client 4", "another model"}, [](Honest& liar, std::string m) { m[8] ^= 1, liar.send(m); }},
      {1, {"client 4", "did not sign its keys"}, [](Honest& liar, std::string m) { m.back() ^= 1, liar.send(m); }},
      {1, {"client 4", "stage 5", "stage 1"}, [](Honest& liar, const std::string& m) { liar.send(m, 5); }},
      {2,
       {"client 4", "one share to each of its neighbors"},
       [](Honest& liar, const std::string& m) {
         auto shares = secagg::decode<secagg::Shares>(m);
         shares.boxes.pop_back();
         liar.send(secagg::encoded(shares));
       }},
      {3,
       {"client 4", "masked input", "bits"},
       [](Honest& liar, const std::string& m) {
         auto masked = secagg::decode<secagg::Masked>(m);
         masked.input = secagg::Ring(3, 128);
         liar.send(secagg::encoded(masked));
       }},
      {3, {"client 4", "signed another list"}, [](Honest& liar, std::string m) { m[4] ^= 1, liar.send(m); }},
      {4, {"client 4", "another list of survivors"}, [](Honest& liar, std::string m) { m.back() ^= 1, liar.send(m); }},
      {5, {"client 4", "wrong kind of share"}, [](Honest& liar, std::string m) { m[12] ^= 1, liar.send(m); }},
      {5,
       {"client 4", "one share of each client"},
       [](Honest& liar, const std::string& m) {
         auto unmasking = secagg::decode<secagg::Unmasking>(m);
         unmasking.shares.pop_back();
         liar.send(secagg::encoded(unmasking));
       }},
  };
  for (const Lie& lie : lies) {
    CAPTURE(lie.stage);
    CAPTURE(lie.parts.back());
    Scene scene(5, {.deadline = kept_deadline(), .minimum_clients = 3});
    scene.train_all();
    scene.pass_deadline();
    for (int stage = 1; stage < lie.stage; ++stage) scene.step();
    Honest& liar = *scene.honest[4];
    lie.tell(liar, liar.answer().value());
    const auto refused = liar.peer.hear<Refused>();
    REQUIRE(refused);
    for (const std::string_view part : lie.parts) CHECK_MESSAGE(names(refused->reason, {part}), part << ": " << refused->reason);
    CHECK(scene.says(refused->reason));
    scene.honest.pop_back();
    for (int stage = lie.stage; stage <= 5; ++stage) scene.step();
    CHECK(scene.coordinator.get() ==
          mean_of(scene.rules, lie.stage > 3 ? std::vector<ClientId>{0, 1, 2, 3, 4} : std::vector<ClientId>{0, 1, 2, 3}));
  }
}

TEST_CASE("numbers of its own beside the sum, no signing key or another one, and too long frames are refused") {
  Scene scene(3);
  Honest& liar = *scene.honest[2];
  const auto model = liar.peer.hear<ModelMessage>();
  REQUIRE(liar.peer.hear<Train>());
  const auto refusal = [&](const Peer& peer) {
    const auto refused = peer.hear<Refused>();
    return refused ? refused->reason : std::string();
  };
  const auto gone = [&] {
    while (scene.fleet->status().clients[2].connected) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const auto join = [&](const std::string& key) {
    gone();
    Peer peer(calling(scene.fleet->port()));
    peer.say(Hello{2, build_identity()});
    peer.hear<Welcome>();
    peer.say(Ready{"data", "rows", 10, 0, false, 0, key});
    return peer;
  };
  UpdateMessage update{.round = 1, .model_hash = model->model_hash, .report = {.client = 2, .rows = 10}, .change = Vector(kSize)};
  liar.peer.say(update);
  CHECK(names(refusal(liar.peer), {"numbers of its own", "secure aggregation"}));
  const Peer without = join("");
  CHECK(names(refusal(without), {"client 2", "no signing key"}));
  const Peer other = join(std::string(64, 'a'));
  CHECK(names(refusal(other), {"client 2", "different signing key"}));
  Peer again = join(hex_of(secagg::verifying_key(key_of(2))));
  REQUIRE(again.hear<ModelMessage>());
  REQUIRE(again.hear<Train>());
  std::string head = std::string(*encode(SecuredMessage{1, 1, 1, "x"})).substr(0, kHeaderBytes);
  head[8] = 1, head[9] = 0, head[10] = 1;  // 65537 bytes
  again.send(head);
  CHECK(names(refusal(again), {"'secured'", "65537", "65536"}));
  gone();
  scene.honest[2] = std::make_unique<Honest>(2, scene.fleet->port(), scene.rules, 3);
  scene.train_all();
  for (int stage = 0; stage < 5; ++stage) scene.step();
  CHECK(scene.coordinator.get() == mean_of(scene.rules, {0, 1, 2}));
}

}  // namespace fedstride::test::secure_rounds_test
