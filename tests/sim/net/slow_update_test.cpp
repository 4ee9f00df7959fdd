#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "sim/net/networked_fleet.hpp"
#include "tests/support/peer.hpp"

namespace fedstride::test::slow_update_test {
namespace {

using std::chrono::milliseconds;

const std::string kRows = "rows";

struct Joined {
  Peer peer;
  UpdateMessage update;  ///< an answer to the request

  Joined(ClientId client, std::uint16_t port) : peer(test::calling(port)) {
    peer.say(Hello{client, build_identity()});
    peer.hear<Welcome>();
    peer.say(Ready{"data", kRows, 10, 0});
    const auto model = peer.hear<ModelMessage>();
    const auto train = peer.hear<Train>();
    REQUIRE(train);
    update.round = train->round;
    update.model_hash = train->model_hash;
    update.report.client = client;
    update.report.rows = 10;
    update.change = model->model;
  }
};

}  // namespace

TEST_CASE("Clients that send their updates very slowly delay the others only for a while") {
  const RosterEntry entry{10, kRows};
  const FederationTerms terms{.welcome = {build_identity(), "", "e"},
                              .data_hash = "data",
                              .roster = {entry, entry, entry},
                              .packings = {Packing(4000), Packing(4000)}};
  const ReceptionRules rules{.listen = {"127.0.0.1", 0},
                             .transport = Transport::plain(),
                             .authenticated = false,
                             .heartbeat = milliseconds(1000),
                             .updates_in_flight = 2};
  std::mutex mutex;
  std::string log;
  NetworkedFleet fleet(
      terms, rules, RoundTerms{.deadline = 0.1, .minimum_clients = 1}, [](auto&&...) { return std::string(); },
      [&](const std::string& line) {
        const std::lock_guard lock(mutex);
        log += line + "\n";
      });
  std::vector<ClientId> summed;
  std::thread coordinator([&] {
    const SumRules rules_of_sum{.weights = {1, 1, 1}};
    const std::vector<ClientId> cohort{0, 1, 2};
    const Vector model(4000, 1);
    Accumulator updates(rules_of_sum, 1, cohort, 4000);
    fleet.collect(Task{.round = 1, .model = model}, cohort, updates);
    for (const ClientReport& report : updates.reports()) summed.push_back(report.client);
  });

  // Each occupies one of the two slots for updates in flight once its header has arrived.
  std::atomic<bool> over{false};
  std::vector<std::thread> slow;
  for (const ClientId client : {1U, 2U}) {
    auto joined = std::make_shared<Joined>(client, fleet.port());
    const Frame frame = encode(joined->update);
    REQUIRE(joined->peer.send(std::string_view(*frame).substr(0, kHeaderBytes)));
    slow.emplace_back([joined, frame, &over] {
      for (std::size_t at = kHeaderBytes; at < frame->size() && !over; ++at) {
        if (!joined->peer.send(std::string_view(*frame).substr(at, 1))) break;
        std::this_thread::sleep_for(milliseconds(20));
      }
    });
  }
  const Joined honest(0, fleet.port());
  CHECK(honest.peer.say(honest.update));
  CHECK(honest.peer.hear<Received>());
  coordinator.join();
  over = true;
  for (std::thread& one : slow) one.join();
  CHECK(summed == std::vector<ClientId>{0});
  const std::lock_guard lock(mutex);
  CHECK(log.find("silent for 4 s") != log.npos);
}

}  // namespace fedstride::test::slow_update_test
