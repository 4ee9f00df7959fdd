#include <optional>

#include "tests/cli/federation.hpp"

using namespace fedstride;
using namespace fedstride::test;

namespace {

void pause_at_random(RandomStream& random, int milliseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(static_cast<std::uint64_t>(milliseconds) * 1000)));
}

void finish(const Party& coordinator, const std::vector<Party>& clients, const Federation& federation) {
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  federation.check_undisturbed();
}

}  // namespace

TEST_CASE("clients killed inside a round and started again send the same bits") {
  const Federation federation({"--optimizer", "adadp", "--client-state", "keep", "--rounds", "120", "--local-epochs", "5"});
  const Party coordinator = federation.serve();
  auto clients = federation.join_all();
  RandomStream random(1, {.purpose = Purpose::test});
  for (std::size_t kill = 0; kill < 8; ++kill) {
    const std::size_t rounds = rounds_of(federation.out()).size();
    REQUIRE(federation.reaches(rounds + 1));
    Party& client = clients[kill % 3];
    pause_at_random(random, 20);
    client.signal(SIGSTOP);  // no round ends without it
    REQUIRE(client.kill() == -SIGKILL);
    client = federation.join(static_cast<int>(kill % 3));
    REQUIRE(client.says("joined"));
  }
  CHECK(rounds_of(federation.out()).size() < 120);
  finish(coordinator, clients, federation);
}

TEST_CASE("a coordinator killed at any moment and started with the same command ends with the model of an undisturbed run") {
  const Federation federation({"--optimizer", "adadp", "--rounds", "120", "--local-epochs", "5"});
  auto clients = federation.join_all();
  RandomStream random(2, {.purpose = Purpose::test});
  std::size_t rounds = 0;
  for (int session = 0; session < 8; ++session) {
    const Party coordinator(federation.serve_words());
    if (session % 4 != 3) {  // else anywhere, its beginning included
      REQUIRE(federation.reaches(rounds + 1 + random.below(5)));
    }
    pause_at_random(random, 30);
    CHECK(coordinator.kill() == -SIGKILL);
    const std::size_t now = rounds_of(federation.out()).size();
    CHECK(now >= rounds);
    rounds = now;
  }
  CHECK(rounds < 120);
  const Party last = federation.serve();
  finish(last, clients, federation);
}

TEST_CASE("coordinator and clients killed together go on with the same commands") {
  const Federation federation({"--optimizer", "adadp", "--rounds", "120", "--local-epochs", "5"});
  RandomStream random(3, {.purpose = Purpose::test});
  for (int session = 0; session < 4; ++session) {
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

TEST_CASE("a client stopped for longer than the limit of silence is given up, comes back and takes part") {
  const Federation federation({"--optimizer", "adadp", "--rounds", "60", "--local-epochs", "5"});
  const Party coordinator = federation.serve({"--heartbeat", "0.2"});
  const auto clients = federation.join_all();
  REQUIRE(federation.reaches(2));
  clients[1].signal(SIGSTOP);
  CHECK(coordinator.says("it has been silent for 0.8 s"));
  const std::size_t rounds = rounds_of(federation.out()).size();
  CHECK(rounds < 60);
  clients[1].signal(SIGCONT);
  finish(coordinator, clients, federation);
}

TEST_CASE("a coordinator stopped for longer than the limit of silence is left by its clients, and found again") {
  const Federation federation({"--optimizer", "adadp", "--rounds", "60", "--local-epochs", "5"});
  const Party coordinator = federation.serve({"--heartbeat", "0.2"});
  const auto clients = federation.join_all();
  REQUIRE(federation.reaches(2));
  coordinator.signal(SIGSTOP);
  for (const Party& client : clients) CHECK(client.says("it has been silent for 0.8 s"));
  coordinator.signal(SIGCONT);
  finish(coordinator, clients, federation);
}
