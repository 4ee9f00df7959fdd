#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_strangers_test {

namespace fs = std::filesystem;

namespace {

const Words kSettings{"--optimizer", "sgd", "--rounds", "4"};

void finish(const Federation& federation, const Party& coordinator, const std::vector<Party>& clients) {
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  federation.check_undisturbed();
}

/// Ends with exit code 1 and one line that says this, besides the log.
void check_leaves(const Party& client, const std::string& words) {
  CHECK(client.wait() == 1);
  const std::string err = client.err();
  const auto line = err.find("fedstride: ");
  REQUIRE(line != err.npos);
  CHECK(line_count(err.substr(line)) == 1);
  if (err.find(words, line) == err.npos) MESSAGE("it said: " << err);
  CHECK(err.find(words, line) != err.npos);
}

}  // namespace

TEST_CASE("garbage and half-open connections keep nobody out, in plain mode and under TLS") {
  for (const bool tls : {false, true}) {
    CAPTURE(tls);
    Federation federation(kSettings);
    if (tls) federation.use_certificates();
    const Party coordinator = federation.serve({"--heartbeat", "0.3"});
    std::vector<Socket> idle;  // never say a word
    for (int i = 0; i < 8; ++i) idle.push_back(calling(federation.port()));
    RandomStream random(4, {.purpose = Purpose::test});
    for (int i = 0; i < 8; ++i) {
      std::string bytes(random.below(3000), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      const Socket stranger = calling(federation.port());
      send_all(stranger.fd(), bytes);
    }
    CHECK(coordinator.says(tls ? "no TLS 1.3 handshake with it" : "is not a fedstride frame"));
    if (!tls) CHECK(coordinator.says("it has been silent for 1.2 s"));
    finish(federation, coordinator, federation.join_all());
  }
}

TEST_CASE("more connections than are taken: one too many is closed at once, and named") {
  const Federation federation(kSettings);
  const Party coordinator = federation.serve({"--heartbeat", "1", "--connections", "5"});
  {
    std::vector<Socket> idle;
    for (int i = 0; i < 6; ++i) idle.push_back(calling(federation.port()));
    CHECK(coordinator.says("there are 5 connections already, no more are taken"));
  }
  finish(federation, coordinator, federation.join_all());
}

TEST_CASE("a second client of one identity is turned away and told why, and takes over when the first dies") {
  const Federation federation(kSettings);
  const Party coordinator = federation.serve();
  const Party first = federation.join(0);
  REQUIRE(first.says("joined"));
  const Party second = federation.join_with(0, {"--out", federation / "another"});
  CHECK(second.says("client 0 is connected already, from 127.0.0.1:"));
  CHECK(coordinator.says("client 0 is connected already"));
  CHECK(!first.has_said("trying again"));
  first.kill();
  CHECK(second.says("joined"));
  std::vector<Party> clients;
  for (const int client : {1, 2}) clients.push_back(federation.join(client));
  CHECK(second.wait() == 0);
  finish(federation, coordinator, clients);
}

TEST_CASE("a second process in one client's folder ends in one line") {
  const Federation federation(kSettings);
  const Party coordinator = federation.serve();
  const Party first = federation.join(0);
  REQUIRE(first.says("joined"));
  check_leaves(federation.join(0), "another fedstride process is running in");
}

TEST_CASE("an unknown client, and one whose data or folder are of another experiment, leave with a reason") {
  const Federation federation(kSettings);
  const Party coordinator = federation.serve();
  check_leaves(federation.join(7), "by the coordinator: client 7 is unknown; this federation has clients 0 to 2");
  CHECK(coordinator.says("client 7 is unknown"));

  write_table(federation / "other", 200);
  check_leaves(federation.join_with(1, {"--data-dir", federation / "other"}), "client 1's data set is another: its hash");
  CHECK(coordinator.says("client 1's data set is another"));
  check_leaves(federation.join_with(1, {"--data-dir", federation / "nowhere"}), "nowhere");
  CHECK(coordinator.says("it left: it cannot go on; its own log says why"));

  const Federation another({"--optimizer", "adam", "--rounds", "1"});
  {
    const Party elsewhere = another.serve();
    for (const Party& client : another.join_all()) REQUIRE(client.says("joined"));
  }
  check_leaves(federation.join_with(1, {"--out", another.client_folder(1)}), "of a client in another experiment");
  finish(federation, coordinator, federation.join_all());
}

}  // namespace fedstride::test::network_strangers_test
