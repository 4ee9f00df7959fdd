#include "tests/cli/federation.hpp"
#include "tests/support/fault_proxy.hpp"

using namespace fedstride;
using namespace fedstride::test;

TEST_CASE("every kind of fault at every kind of frame leaves every round's model as it is") {
  for (const std::uint64_t seed : {1, 2}) {
    CAPTURE(seed);
    constexpr int kRounds = 30;
    const Federation federation({"--optimizer", "adadp", "--rounds", std::to_string(kRounds)});
    const Party coordinator = federation.serve({"--heartbeat", "0.2"});
    const FaultProxy proxy(federation.port(), {.seed = seed, .calm_from = kRounds});
    const auto clients = federation.join_all(proxy.port());
    CHECK(coordinator.wait() == 0);
    CHECK(proxy.left() == 0);
    for (const Party& client : clients) CHECK(client.wait() == 0);
    federation.check_undisturbed();
  }
}
