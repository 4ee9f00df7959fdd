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

/// Ends with this exit code and one line that names these, besides the log.
void check_leaves(const Party& client, int code, std::initializer_list<std::string_view> parts) {
  CHECK(client.wait() == code);
  const std::string err = client.err();
  const auto line = err.find("fedstride: ");
  REQUIRE(line != err.npos);
  CHECK_MESSAGE(names(err.substr(line), parts), err);
}

}  // namespace

TEST_CASE("garbage and half-open connections keep nobody out, in plain mode and under TLS") {
  for (const bool tls : {false, true}) {
    CAPTURE(tls);
    Federation federation(kSettings);
    if (tls) federation.use_certificates();
    const Party coordinator = federation.serve({"--heartbeat", "0.3"});
    std::vector<Socket> idle;  // never send anything
    for (int i = 0; i < 8; ++i) idle.push_back(calling(federation.port()));
    RandomStream random(4, {.purpose = Purpose::test});
    for (int i = 0; i < 8; ++i) {
      std::string bytes(random.below(3000), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      const Socket stranger = calling(federation.port());
      send_all(stranger.get(), bytes);
    }
    CHECK(coordinator.says(tls ? "TLS 1.3" : "fedstride"));
    if (!tls) CHECK(coordinator.says("silent for 1.2 s"));
    finish(federation, coordinator, federation.join_all());
  }
}

TEST_CASE("one connection too many is closed immediately and logged") {
  const Federation federation(kSettings);
  const Party coordinator = federation.serve({"--heartbeat", "1", "--connections", "5"});
  {
    std::vector<Socket> idle;
    for (int i = 0; i < 6; ++i) idle.push_back(calling(federation.port()));
    CHECK(coordinator.says("5 connections"));
  }
  finish(federation, coordinator, federation.join_all());
}

TEST_CASE("a second client with the same identity is refused with a reason, and takes over when the first dies") {
  const Federation federation(kSettings);
  const Party coordinator = federation.serve();
  const Party first = federation.join(0);
  REQUIRE(first.says("joined"));
  const Party second = federation.join_with(0, {"--out", federation / "another"});
  CHECK(second.says("client 0", "connected"));
  CHECK(coordinator.says("client 0", "connected"));
  CHECK(!first.has_said("trying again"));
  first.kill();
  CHECK(second.says("joined"));
  std::vector<Party> clients;
  for (const int client : {1, 2}) clients.push_back(federation.join(client));
  CHECK(second.wait() == 0);
  finish(federation, coordinator, clients);
}

TEST_CASE("a second process in a client's folder ends with one line") {
  const Federation federation(kSettings);
  const Party coordinator = federation.serve();
  const Party first = federation.join(0);
  REQUIRE(first.says("joined"));
  check_leaves(federation.join(0), 4, {"'" + federation.client_folder(0) + "'"});
}

TEST_CASE("an unknown client, and one with the data or folder of another experiment, leave with a reason") {
  const Federation federation(kSettings);
  const Party coordinator = federation.serve();
  check_leaves(federation.join(7), 3, {"coordinator", "client 7", "0", "2"});
  CHECK(coordinator.says("client 7"));

  write_table(federation / "other", 200);
  check_leaves(federation.join_with(1, {"--data", federation / "other"}), 3, {"client 1", "hash"});
  CHECK(coordinator.says("client 1", "hash"));
  check_leaves(federation.join_with(1, {"--data", federation / "nowhere"}), 1, {federation / "nowhere"});
  CHECK(coordinator.says("client 1", "left"));

  const Federation another({"--optimizer", "adam", "--rounds", "1"});
  {
    const Party elsewhere = another.serve();
    for (const Party& client : another.join_all()) REQUIRE(client.says("joined"));
  }
  check_leaves(federation.join_with(1, {"--out", another.client_folder(1)}), 3, {"'" + another.client_folder(1) + "'"});
  finish(federation, coordinator, federation.join_all());
}

}  // namespace fedstride::test::network_strangers_test
