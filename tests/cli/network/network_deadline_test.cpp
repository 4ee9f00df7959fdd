#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_deadline_test {
namespace {

const Words kDeadline{"--round-deadline", "0.3", "--minimum-clients", "2"};
const Words kPrivate{"--optimizer",    "sgd",     "--rounds",           "3", "--dp",         "client",
                     "--client-noise", "central", "--noise-multiplier", "1", "--randomness", "seeded"};

/// Rounds of a federation without client 2.
std::vector<RoundLine> without_the_third(const Words& settings) {
  const Federation federation(settings);
  const Party coordinator = federation.serve(kDeadline);
  const Party clients[] = {federation.join(0), federation.join(1)};
  CHECK(coordinator.wait() == 0);
  CHECK(coordinator.has_said("round 1", "waiting"));
  for (const char* round : {"1", "2", "3"})
    CHECK(coordinator.has_said("round " + std::string(round), "closed", "0.3 s", "client 2"));
  for (const Party& client : clients) CHECK(client.wait() == 0);
  std::ifstream file(federation.out() + "/rounds.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto reports = Json::parse(line)["clients"];
    REQUIRE(reports.size() == 2);
    CHECK(reports[0]["client"] == 0);
    CHECK(reports[1]["client"] == 1);
  }
  return rounds_of(federation.out());
}

/// The same, with a client 2 that sends an update of zeros.
std::vector<RoundLine> with_an_idle_third(const Words& settings) {
  const Federation federation(settings);
  const Party coordinator = federation.serve();
  const Introduction known = introduce(federation, 2);
  const Party clients[] = {federation.join(0), federation.join(1)};
  FalseClient idle(federation.port(), known);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    REQUIRE(idle.train.round == round);
    idle.peer.say(idle.update(known));
    CHECK(idle.peer.hear<Received>());
    if (round == 3) break;
    idle.model = idle.peer.hear<ModelMessage>().value_or(ModelMessage{});
    idle.train = idle.peer.hear<Train>().value_or(Train{});
  }
  CHECK(idle.peer.hear<Finished>());
  idle.peer.hang_up();
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  return rounds_of(federation.out());
}

}  // namespace

TEST_CASE("a round closes at its deadline without the missing client, whose late update is dropped and changes nothing") {
  const Words settings{"--optimizer", "sgd", "--rounds", "3"};
  const Federation federation(settings);
  const Party coordinator = federation.serve(kDeadline);
  const Introduction known = introduce(federation, 2);
  FalseClient late(federation.port(), known);
  REQUIRE(late.train.round == 1);
  const Party clients[] = {federation.join(0), federation.join(1)};
  CHECK(coordinator.says("round 1", "closed", "0.3 s", "client 2"));
  UpdateMessage update = late.update(known);
  update.change.fill(1);
  late.peer.say(update);
  late.peer.say(update);
  CHECK(coordinator.says("client 2", "update", "round 1"));
  bool acknowledged = false;
  while (const auto frame = late.peer.next()) {
    if (frame->kind == FrameKind::received) acknowledged = decode<Received>(frame->body)->round == 1;
  }
  late.peer.hang_up();
  CHECK(acknowledged);
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  CHECK(rounds_of(federation.out()) == without_the_third(settings));
}

TEST_CASE("under client-level privacy, noise and denominator do not depend on missing clients") {
  CHECK(without_the_third(kPrivate) == with_an_idle_third(kPrivate));
  // Without privacy, the mean is over the clients that answered.
  const Words open{"--optimizer", "sgd", "--rounds", "3"};
  CHECK(without_the_third(open) != with_an_idle_third(open));
}

TEST_CASE("a round past its deadline continues until the minimum number of clients has answered") {
  const Federation federation({"--optimizer", "sgd", "--rounds", "2"});
  const Party coordinator = federation.serve({"--round-deadline", "0.2", "--minimum-clients", "3"});
  std::vector<Party> clients;
  for (const int client : {0, 1}) clients.push_back(federation.join(client));
  CHECK(coordinator.says("round 1", "deadline"));
  CHECK(rounds_of(federation.out()).empty());
  clients.push_back(federation.join(2));
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  federation.check_undisturbed();
}

}  // namespace fedstride::test::network_deadline_test
