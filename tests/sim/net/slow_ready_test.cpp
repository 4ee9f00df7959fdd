#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "sim/net/networked_fleet.hpp"
#include "tests/support/peer.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::slow_ready_test {

TEST_CASE("A client that is never ready loses its connection, however many heartbeats it sends") {
  using std::chrono::milliseconds;
  FederationTerms terms{
      .welcome = {build_identity(), "", "x"}, .data_hash = "data", .roster = {{5, "rows"}}, .packings = {Packing(3), Packing(3)}};
  NetworkedFleet fleet(
      terms,
      {.listen = {"127.0.0.1", 0},
       .transport = Transport::plain(),
       .authenticated = false,
       .heartbeat = milliseconds(100),
       .ready_within = milliseconds(300)},
      {}, [](auto&&...) { return std::string(); }, [](const std::string&) {});
  const Peer peer(calling(fleet.port()));
  peer.say(Hello{0, build_identity()});
  REQUIRE(peer.hear<Welcome>());
  for (int i = 0; i < 20; ++i) {
    peer.say(Heartbeat{});
    std::this_thread::sleep_for(milliseconds(50));
  }
  const auto refused = peer.hear<Refused>();
  REQUIRE(refused);
  CHECK(names(refused->reason, {"0.3", "--ready-within"}));
  CHECK(!refused->for_good);
}

}  // namespace fedstride::test::slow_ready_test
