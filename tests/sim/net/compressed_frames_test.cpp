#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "client/compression/top_k.hpp"
#include "sim/net/networked_fleet.hpp"
#include "tests/support/peer.hpp"

// What a coordinator does with compressed updates that are none, and what it sends to clients that hold a model.

namespace fedstride::test::compressed_frames_test {
namespace {

constexpr std::size_t kNumbers = 1000;

UpdateCoding coding() {
  return {.compression = TopK<UpCompressor>({.keep = 10}), .sent = {{0, kNumbers}}, .spread = kNumbers, .seed = 1};
}
FederationTerms terms() {
  FederationTerms all{.welcome = {build_identity(), "", "e"}, .data_hash = "data", .roster = {{10, "rows"}}};
  all.packings = {.model = Packing(kNumbers), .update = Packing(kNumbers), .update_coding = coding()};
  return all;
}
const ReceptionRules kRules{
    .listen = {"127.0.0.1", 0}, .transport = Transport::plain(), .authenticated = false, .heartbeat = std::chrono::seconds(60)};

struct Client {
  Peer peer;
  ModelMessage model;
  UpdateMessage update;

  explicit Client(std::uint16_t port, std::uint32_t holds = 0) : peer(calling(port)) {
    peer.say(Hello{0, build_identity()});
    peer.hear<Welcome>();
    peer.say(Ready{"data", "rows", 10, 0, false, holds});
    listen();
  }
  void listen() {
    model = peer.hear<ModelMessage>().value_or(ModelMessage{});
    const auto train = peer.hear<Train>();
    REQUIRE(train);
    update = {.round = train->round, .model_hash = train->model_hash, .report = {}, .change = {}};
    update.report.rows = 10;
  }
};

}  // namespace

TEST_CASE("a compressed update that does not decode to the model's numbers is refused in a line, and a good one is summed") {
  NetworkedFleet fleet(
      terms(), kRules, {}, [](auto&&...) { return std::string(); }, [](const std::string&) {});
  const SumRules sum{.weights = {1}};
  const std::vector<ClientId> cohort{0};
  Accumulator updates(sum, 1, cohort, kNumbers, Accumulator::Keeps::updates);
  const Vector model(kNumbers);
  std::thread coordinator([&] { fleet.collect(Task{.round = 1, .model = model}, cohort, updates); });

  Vector change(kNumbers);
  for (std::size_t i = 0; i < kNumbers; ++i) change[i] = i % 97 == 5 ? 2 : 0.001F;
  KeptBack none;
  Vector sent = change;
  const std::string good = coding().code(1, 0, none, sent);
  const auto reason = [&](const std::function<void(UpdateMessage&)>& spoil) {
    Client client(fleet.port());
    client.update.code = good;
    spoil(client.update);
    client.peer.say(client.update);
    return client.peer.hear<Refused>().value_or(Refused{}).reason;
  };
  const auto says = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  CHECK(says(reason([](UpdateMessage& one) { one.code.pop_back(); }), "does not decode to the 1000 entries"));
  CHECK(says(reason([](UpdateMessage& one) { one.code[40] = '\377', one.code[41] = '\377', one.code[42] = '\377'; }),
             "does not decode"));
  CHECK(says(reason([](UpdateMessage& one) { std::memset(one.code.data(), 0xFF, 4); }), "does not decode"));  // NaN
  CHECK(says(reason([](UpdateMessage& one) { one.code.clear(); }), "does not decode"));
  CHECK(says(reason([](UpdateMessage& one) { one.code.append(4000, 'x'); }), "bytes; it can have at most"));
  CHECK(says(reason([&](UpdateMessage& one) { one.change = change; }), "in addition to its code"));
  CHECK(says(reason([](UpdateMessage& one) { one.diverged = true; }), "marked as diverged but has a code"));
  const float large = 0x1p23F;
  CHECK(says(reason([&](UpdateMessage& one) { std::memcpy(one.code.data(), &large, 4); }), "2^22 or larger"));

  Client client(fleet.port());
  client.update.code = good;
  client.peer.say(client.update);
  CHECK(client.peer.hear<Received>());
  coordinator.join();
  const OpenUpdates opened = std::move(updates).open();
  REQUIRE(opened.all().size() == 1);
  CHECK(Vector(opened.all()[0].change) == sent);
  CHECK(updates.reports().size() == 1);
  CHECK(fleet.bytes()->uplink == encode(client.update)->size());
}

TEST_CASE("clients are sent the changes of the model that they say they hold, or all of it") {
  FederationTerms all = terms();
  all.packings.update_coding = {};
  NetworkedFleet fleet(
      all, kRules, {}, [](auto&&...) { return std::string(); }, [](const std::string&) {});
  const SumRules sum{.weights = {1}};
  const std::vector<ClientId> cohort{0};
  const Vector model(kNumbers);
  const std::vector<ModelChange> changes{{3, "three"}, {4, "four"}};
  for (const auto& [holds, sent] : std::map<std::uint32_t, std::uint64_t>{{0, 0}, {1, 0}, {2, 25}, {3, 12}, {4, 0}, {9, 0}}) {
    CAPTURE(holds);
    Accumulator updates(sum, 4, cohort, kNumbers);
    std::thread coordinator([&] { fleet.collect(Task{.round = 4, .model = model, .changes = changes}, cohort, updates); });
    Client client(fleet.port(), holds);
    CHECK(client.model.changes.size() == sent);
    CHECK(client.model.base == (sent > 0 ? holds : 0));
    CHECK(client.model.model.size() == (sent > 0 ? 0 : kNumbers));
    client.update.change = Vector(kNumbers);
    client.peer.say(client.update);
    CHECK(client.peer.hear<Received>());
    coordinator.join();
  }
}

}  // namespace fedstride::test::compressed_frames_test
