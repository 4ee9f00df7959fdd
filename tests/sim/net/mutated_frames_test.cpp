#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "sim/net/networked_fleet.hpp"
#include "tests/sim/net/mutator.hpp"
#include "tests/support/peer.hpp"

namespace fedstride::test::mutated_frames_test {
namespace {

using std::chrono::seconds;

constexpr int kFrames = 1000;
constexpr int kFramesARound = 40;  // at most; then client 1 answers correctly, and the round can end
constexpr std::size_t kParameters = 1000;

/// The federation: client 0 is honest, client 1 is anyone who claims to be.
FederationTerms terms() {
  return {.welcome = {build_identity(), "model = \"logistic\"\n", "an experiment"},
          .data_hash = "some data",
          .roster = {{100, "rows 0"}, {200, "rows 1"}},
          .packings = {Packing(kParameters), Packing(kParameters)}};
}
Hello hello(ClientId client) { return {client, build_identity()}; }
Ready ready(ClientId client) { return {"some data", "rows " + std::to_string(client), client == 0 ? 100U : 200U, 0}; }

/// A client's answer, which depends only on the round.
UpdateMessage update(ClientId client, const Train& train) {
  UpdateMessage message{.round = train.round, .model_hash = train.model_hash, .report = {}, .change = {}};
  message.report.client = client;
  message.report.rows = client == 0 ? 100 : 200;
  message.change = Vector(kParameters, static_cast<float>(train.round) / 8 + static_cast<float>(client));
  return message;
}

/// Takes part until the federation is finished, or for one round; returns the number of acknowledged rounds.
int honest_client(ClientId client, std::uint16_t port, bool once) {
  int rounds = 0;
  const Peer peer(test::calling(port));
  if (!peer.say(hello(client)) || !peer.hear<Welcome>() || !peer.say(ready(client))) return 0;
  while (auto frame = peer.next()) {
    if (frame->kind == FrameKind::train) {
      if (!peer.say(update(client, *decode<Train>(frame->body)))) break;
    } else if (frame->kind == FrameKind::received) {
      ++rounds;
      if (once) break;
    } else if (frame->kind != FrameKind::model) {
      break;
    }
  }
  return rounds;
}

/// A stranger, or a peer that has completed part of client 1's introduction, sends one frame and closes its side; returns whether
/// the coordinator then does too.
bool throw_frame(Mutator& mutator, std::uint16_t port) {
  test::Socket socket = test::calling(port);
  const int fd = socket.get();
  if (fd < 0) return false;
  const Peer peer(std::move(socket));
  const std::size_t steps = mutator.below(4);
  std::string likely;
  if (steps > 0) peer.say(hello(1));
  if (steps > 1 && peer.hear<Welcome>() && peer.say(ready(1)) && peer.hear<ModelMessage>()) {
    if (const auto train = peer.hear<Train>()) likely = *encode(update(1, *train));
  }
  peer.send(mutator.mutated(mutator.some_frame(likely)));
  ::shutdown(fd, SHUT_WR);
  while (test::receive(fd, 4096).size() == 4096) {
  }
  char more = 0;
  const auto size = ::recv(fd, &more, 1, MSG_DONTWAIT);
  return size == 0 || (size < 0 && errno == ECONNRESET);
}

std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

template <class Condition>
bool comes_true(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace

TEST_CASE("A thousand random and mutated frames: the honest client is in every round, and no connection stays open") {
  std::mutex mutex;
  std::vector<std::string> lines;
  const ReceptionRules rules{.listen = {"127.0.0.1", 0},
                             .transport = Transport::plain(),
                             .authenticated = false,
                             .heartbeat = std::chrono::seconds(60),
                             .updates_in_flight = 2};
  NetworkedFleet fleet(
      terms(), rules, {}, [](auto&&...) { return std::string(); },
      [&](const std::string& line) {
        const std::lock_guard lock(mutex);
        lines.push_back(line);
      });
  const std::uint16_t port = fleet.port();
  int thanked = 0;
  std::thread honest([&] { thanked = honest_client(0, port, false); });
  REQUIRE(comes_true([&] { return fleet.status().clients[0].connected; }));
  const auto before = descriptors();

  std::atomic<bool> thrown{false}, over{false};
  std::uint32_t rounds = 0;
  std::vector<int> summed;  // by round: updates of client 0 that are what it sent
  const SumRules rules_of_sum{.weights = {1, 1}};
  std::thread coordinator([&] {
    while (!thrown) {
      const Vector model(kParameters, static_cast<float>(++rounds));
      const std::vector<ClientId> cohort{0, 1};
      Accumulator updates(rules_of_sum, rounds, cohort, kParameters, Accumulator::Keeps::updates);
      fleet.collect(Task{.round = rounds, .model = model}, cohort, updates);
      const Vector expected = update(0, Train{rounds, {}, false, 0}).change;
      int right = 0;
      const OpenUpdates opened = std::move(updates).open();
      for (const auto& one : opened.all())
        if (one.client == 0 && Vector(one.change) == expected) ++right;
      summed.push_back(right);
    }
    over = true;
  });

  Mutator mutator(20240607);
  int left_open = 0;
  for (int i = 0; i < kFrames; ++i) {
    if (!throw_frame(mutator, port)) ++left_open;
    if (i % kFramesARound == 0) honest_client(1, port, true);
  }
  thrown = true;
  // The current round waits for client 1 if it has not answered.
  CHECK(comes_true([&] {
    const FleetStatus status = fleet.status();
    if (status.round != 0 && !status.clients[1].answered) honest_client(1, port, true);
    return over.load();
  }));
  coordinator.join();
  CHECK(left_open == 0);
  CHECK(comes_true([&] { return descriptors() <= before; }));
  const FleetStatus status = fleet.status();
  CHECK(status.clients[0].connected);
  fleet.finish(rounds, "a hash");
  honest.join();

  CHECK(rounds >= kFrames / kFramesARound);
  CHECK(summed == std::vector<int>(rounds, 1));
  CHECK(thanked == static_cast<int>(rounds));
  MESSAGE(rounds << " rounds, " << status.refused << " connections ended for a reason");
  CHECK(status.refused > kFrames / 2);
  const std::lock_guard lock(mutex);
  for (const std::string& line : lines) CHECK(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; }));
  for (const std::string reason : {"fedstride", "malformed", "damaged", "unexpected", "at most"}) {
    CAPTURE(reason);
    CHECK(std::ranges::any_of(lines, [&](const std::string& line) { return line.find(reason) != std::string::npos; }));
  }
}

}  // namespace fedstride::test::mutated_frames_test
