#include <doctest/doctest.h>

#include <future>

#include "sim/net/networked_fleet.hpp"
#include "tests/support/peer.hpp"

namespace fedstride::test::finish_test {
namespace {

FederationTerms two_clients() {
  FederationTerms terms{
      .welcome = {build_identity(), "", "x"}, .data_hash = "data", .roster = {}, .packings = {Packing(3), Packing(3)}};
  terms.roster = {{5, "rows"}, {5, "rows"}};
  return terms;
}

Peer ready_peer(std::uint16_t port, ClientId client) {
  Peer peer(test::calling(port));
  peer.say(Hello{client, build_identity()});
  CHECK(peer.hear<Welcome>().has_value());
  peer.say(Ready{"data", "rows", 5, 0});
  return peer;
}

}  // namespace

TEST_CASE(
    "a client disconnected when the last round ended is informed when it reconnects; one that never connected is not awaited") {
  NetworkedFleet fleet(
      two_clients(), {.listen = {"127.0.0.1", 0}, .transport = Transport::plain(), .authenticated = false}, {},
      [](auto&&...) { return std::string(); }, [](const std::string&) {});
  const auto connected = [&] { return fleet.status().clients[0].connected; };
  {
    const Peer peer = ready_peer(fleet.port(), 0);
    while (!connected()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  while (connected()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const auto begun = std::chrono::steady_clock::now();
  auto finished = std::async(std::launch::async, [&] { fleet.finish(7, "hash"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const Peer back = ready_peer(fleet.port(), 0);
  const auto last = back.hear<Finished>();
  REQUIRE(last.has_value());
  CHECK(last->rounds == 7);
  CHECK(last->model_hash == "hash");
  finished.get();
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(4));
}

TEST_CASE("a fleet can end at any moment, even during a heartbeat") {
  for (int i = 0; i < 200; ++i) {
    NetworkedFleet fleet(
        two_clients(),
        {.listen = {"127.0.0.1", 0},
         .transport = Transport::plain(),
         .authenticated = false,
         .heartbeat = std::chrono::milliseconds(1)},
        {}, [](auto&&...) { return std::string(); }, [](const std::string&) {});
    std::this_thread::sleep_for(std::chrono::microseconds(900 + 2 * i));
  }
}

}  // namespace fedstride::test::finish_test
