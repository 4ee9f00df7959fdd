#include "tests/cli/network/federation.hpp"
#include "tests/support/fault_proxy.hpp"

namespace fedstride::test::network_faults_test {

TEST_CASE("every kind of fault at every kind of frame leaves every round's model unchanged") {
  for (const std::uint64_t seed : {1, 2}) {
    CAPTURE(seed);
    constexpr int kRounds = 25;
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

TEST_CASE("under TLS, cuts, delays and damage anywhere in the stream leave every round's model unchanged") {
  for (const std::uint64_t seed : {1, 2}) {
    CAPTURE(seed);
    Federation federation({"--optimizer", "adadp", "--rounds", "20"});
    federation.use_certificates();
    const Party coordinator = federation.serve({"--heartbeat", "0.2"});
    const FaultProxy proxy(federation.port(), {.seed = seed,
                                               .faults = {Fault::cut, Fault::cut_inside, Fault::delay, Fault::damage_body},
                                               .kinds = {FrameKind::hello, FrameKind::model, FrameKind::update},
                                               .opaque = true,
                                               .chance = 0.2});
    // A client cut off at the very end does not learn of it, and is killed here.
    const auto clients = federation.join_all(proxy.port());
    CHECK(coordinator.wait() == 0);
    CHECK(proxy.left() == 0);
    federation.check_undisturbed();
  }
}

}  // namespace fedstride::test::network_faults_test
