// What an operator asks of a running coordinator: to drain, and to read renewed certificates.
#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_drain_test {

TEST_CASE("SIGUSR2 drains: the round ends, clients are told to come back, and the same command continues with the same bits") {
  Federation federation{{"--optimizer", "sgd", "--rounds", "200"}};
  federation.use_certificates();
  std::vector<Party> clients;
  {
    const Party coordinator = federation.serve();
    clients = federation.join_all();
    REQUIRE(federation.reaches(3));
    coordinator.signal(SIGUSR2);
    CHECK(coordinator.wait() == 0);
    CHECK(coordinator.has_said("draining", "current round"));
    CHECK(coordinator.out().find("stopped after round") != std::string::npos);
  }
  const std::size_t done = rounds_of(federation.out()).size();
  CHECK(done < 200);
  for (const Party& client : clients) CHECK(client.says("drained", "trying again"));

  const Party again = federation.serve();
  CHECK(again.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  federation.check_undisturbed();
}

TEST_CASE("a drained coordinator still waits for absent clients, until SIGTERM") {
  const Federation federation{{"--optimizer", "sgd", "--rounds", "3"}};
  const Party waiting = federation.serve();
  waiting.signal(SIGUSR2);
  CHECK(waiting.says("draining"));
  waiting.signal(SIGTERM);
  CHECK(waiting.wait() == 130);
}

TEST_CASE("SIGHUP without --deny reads renewed certificates, which new connections see; unusable ones change nothing") {
  Federation federation{{"--optimizer", "sgd", "--rounds", "3"}};
  federation.use_certificates();
  const std::string file = federation.certificates() + "/coordinator.pem", good = read_file(file);
  const Party coordinator = federation.serve();
  const Party first = federation.join(0);
  REQUIRE(coordinator.says("client 0", "joined"));

  write_file(file, "nothing");
  coordinator.signal(SIGHUP);
  CHECK(coordinator.says("coordinator.pem", "stays in force"));
  const Party second = federation.join(1);
  REQUIRE(coordinator.says("client 1", "joined"));

  write_file(file, good);
  // The last client trusts only the new authority, so the old certificate would not convince it.
  for (const char* name : {"authority", "coordinator", "client-2"})
    REQUIRE(run_program({"certificates", "--renew", name, "--out", federation.certificates()}).code == 0);
  const std::string authorities = federation.certificates() + "/authority.pem", all = read_file(authorities);
  coordinator.signal(SIGHUP);
  CHECK(coordinator.says("'" + federation.certificates() + "' again"));
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----\n";
  const std::string newest = all.substr(0, all.find(kEnd) + kEnd.size());
  REQUIRE(newest.size() < all.size());
  write_file(authorities, newest);
  const Party third = federation.join(2);
  CHECK(coordinator.wait() == 0);
  for (const Party* client : {&first, &second, &third}) CHECK(client->wait() == 0);
  federation.check_undisturbed();
}

}  // namespace fedstride::test::network_drain_test
