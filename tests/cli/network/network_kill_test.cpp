#include <optional>

#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_kill_test {
namespace {

constexpr std::size_t kRounds = 120;

/// True if enough rounds are left to disturb the run once more.
bool goes_on(const Federation& federation) { return rounds_of(federation.out()).size() + 20 < kRounds; }

void pause_at_random(RandomStream& random, int milliseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(static_cast<std::uint64_t>(milliseconds) * 1000)));
}

void finish(const Party& coordinator, const std::vector<Party>& clients, const Federation& federation) {
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  federation.check_undisturbed();
}

}  // namespace

TEST_CASE("clients killed within a round and restarted send the same bits") {
  const Federation federation(
      {"--optimizer", "adadp", "--client-state", "keep", "--rounds", std::to_string(kRounds), "--local-epochs", "100"});
  const Party coordinator = federation.serve();
  auto clients = federation.join_all();
  RandomStream random(1, {.purpose = Purpose::test});
  for (std::size_t kill = 0; kill < 8 && goes_on(federation); ++kill) {
    const std::size_t rounds = rounds_of(federation.out()).size();
    REQUIRE(federation.reaches(rounds + 1));
    Party& client = clients[kill % 3];
    pause_at_random(random, 20);
    client.signal(SIGSTOP);  // no round ends without this client
    REQUIRE(client.kill() == -SIGKILL);
    client = federation.join(static_cast<int>(kill % 3));
    REQUIRE(client.says("joined"));
  }
  finish(coordinator, clients, federation);
}

TEST_CASE("a coordinator killed at any moment and restarted with the same command ends with the model of an undisturbed run") {
  const Federation federation(
      {"--optimizer", "pooled", "--server-optimizer", "restore", "--rounds", std::to_string(kRounds), "--local-epochs", "100"});
  auto clients = federation.join_all();
  RandomStream random(2, {.purpose = Purpose::test});
  std::size_t rounds = 0;
  for (int session = 0; session < 8 && goes_on(federation); ++session) {
    const Party coordinator(federation.serve_words());
    const bool anywhere = session % 4 == 3;  // including during startup
    if (!anywhere) {
      REQUIRE(federation.reaches(rounds + 1 + random.below(5)));
    }
    pause_at_random(random, 30);
    CHECK(coordinator.kill() == -SIGKILL);
    const std::size_t now = rounds_of(federation.out()).size();
    // A line may briefly be ahead of its checkpoint; the next start removes it and repeats its round.
    CHECK(now + (anywhere ? 1u : 0u) >= rounds);
    rounds = now;
  }
  const Party last = federation.serve();
  finish(last, clients, federation);
}

TEST_CASE("coordinator and clients killed together resume with the same commands") {
  const Federation federation({"--optimizer", "adadp", "--rounds", std::to_string(kRounds), "--local-epochs", "100"});
  RandomStream random(3, {.purpose = Purpose::test});
  for (int session = 0; session < 4 && goes_on(federation); ++session) {
    const std::size_t rounds = rounds_of(federation.out()).size();
    const Party coordinator = federation.serve();
    const auto clients = federation.join_all();
    REQUIRE(federation.reaches(rounds + 2));
    pause_at_random(random, 30);
    for (const Party& client : clients) client.kill();
    coordinator.kill();
  }
  const Party coordinator = federation.serve();
  finish(coordinator, federation.join_all(), federation);
}

TEST_CASE("a client stopped for longer than the silence limit is disconnected, and rejoins") {
  const Federation federation({"--optimizer", "adadp", "--rounds", std::to_string(kRounds), "--local-epochs", "100"});
  const Party coordinator = federation.serve({"--heartbeat", "0.2"});
  const auto clients = federation.join_all();
  REQUIRE(federation.reaches(2));
  clients[1].signal(SIGSTOP);
  CHECK(coordinator.says("silent for 0.8 s"));
  CHECK(rounds_of(federation.out()).size() < kRounds);
  clients[1].signal(SIGCONT);
  finish(coordinator, clients, federation);
}

TEST_CASE("clients disconnect from a coordinator stopped for longer than the silence limit, and reconnect") {
  const Federation federation({"--optimizer", "adadp", "--rounds", std::to_string(kRounds), "--local-epochs", "100"});
  const Party coordinator = federation.serve({"--heartbeat", "0.2"});
  const auto clients = federation.join_all();
  REQUIRE(federation.reaches(2));
  coordinator.signal(SIGSTOP);
  for (const Party& client : clients) CHECK(client.says("silent for 0.8 s"));
  coordinator.signal(SIGCONT);
  finish(coordinator, clients, federation);
}

TEST_CASE("under example-level privacy, no spending is lost, whichever process is killed") {
  const Federation federation({"--optimizer", "sgd", "--rounds", std::to_string(kRounds), "--local-epochs", "100", "--dp",
                               "example", "--noise-multiplier", "1", "--randomness", "seeded"});
  auto clients = federation.join_all();
  RandomStream random(5, {.purpose = Purpose::test});
  for (std::size_t session = 0; session < 4 && goes_on(federation); ++session) {
    const Party coordinator = federation.serve();
    REQUIRE(federation.reaches(rounds_of(federation.out()).size() + 1 + random.below(4)));
    Party& client = clients[session % 3];
    client.kill();
    client = federation.join(static_cast<int>(session % 3));
    pause_at_random(random, 30);
    coordinator.kill();
  }
  finish(federation.serve(), clients, federation);
  CHECK(read_file(federation.out() + "/ledger.jsonl") == read_file(federation / "undisturbed/ledger.jsonl"));
  for (int client = 0; client < 3; ++client)
    CHECK(line_count(read_file(federation.client_folder(client) + "/ledger.jsonl")) == 1 + 2 * kRounds);
}

}  // namespace fedstride::test::network_kill_test
