#include <functional>
#include <limits>

#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_false_client_test {
namespace {

std::string with(std::string bytes, std::size_t at, std::uint64_t number, int count) {
  for (int i = 0; i < count; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(number >> (8 * i));
  return bytes;
}

/// A federation whose client 2 is false at first, while the others are honest and wait for it.
struct Infiltrated {
  Federation federation{{"--optimizer", "sgd", "--rounds", "2"}};
  Party coordinator = federation.serve({"--heartbeat", "2"});
  Introduction known = introduce(federation, 2);
  std::vector<Party> honest;

  Infiltrated() {
    for (const int client : {0, 1}) honest.push_back(federation.join(client));
  }
  FalseClient liar() const {
    FalseClient one(federation.port(), known);
    REQUIRE(one.train.round == 1);
    return one;
  }
  /// The true one comes after all; nothing that the false one said is in the model.
  void finish() {
    honest.push_back(federation.join(2));
    CHECK(coordinator.wait() == 0);
    for (const Party& client : honest) CHECK(client.wait() == 0);
    federation.check_undisturbed();
  }
};

struct Lie {
  std::string reason;
  std::function<void(UpdateMessage&)> tell;
};

void check_refused(const std::vector<Lie>& lies) {
  Infiltrated scene;
  for (const Lie& lie : lies) {
    CAPTURE(lie.reason);
    const FalseClient liar = scene.liar();
    UpdateMessage update = liar.update(scene.known);
    lie.tell(update);
    liar.peer.say(update);
    const auto refused = liar.peer.hear<Refused>();
    REQUIRE(refused);
    CHECK(refused->reason.find(lie.reason) != std::string::npos);
    CHECK(!liar.peer.next());
    CHECK(scene.coordinator.says(refused->reason));
  }
  scene.finish();
}

}  // namespace

TEST_CASE("an update of another shape, round, model or client ends its connection; the round waits for the honest one") {
  check_refused({
      {"numbers; one of this experiment has", [](UpdateMessage& m) { m.change = Vector(m.change.size() - 1); }},
      {"its update has 0 numbers; one of this experiment has", [](UpdateMessage& m) { m.change = Vector(); }},
      {"its update is said to have diverged, and has ", [](UpdateMessage& m) { m.diverged = true; }},
      {"an update of round 7; the last round was 1", [](UpdateMessage& m) { m.round = 7; }},
      {"its update starts from another model", [](UpdateMessage& m) { m.model_hash[0] ^= 1; }},
      {"it speaks for client 1", [](UpdateMessage& m) { m.report.client = 1; }},
      {"it speaks for client 4000000000", [](UpdateMessage& m) { m.report.client = 4'000'000'000; }},
  });
}

TEST_CASE("numbers that are not finite or cannot be true end their connection; the round waits for the honest one") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  check_refused({
      {"numbers that are not finite", [](UpdateMessage& m) { m.change[3] = kNan; }},
      {"numbers that are not finite", [](UpdateMessage& m) { m.change[0] = -kInfinity; }},
      {"not finite, or 2^22 and larger", [](UpdateMessage& m) { m.change[0] = 5e6F; }},
      {"its report has numbers that are not finite", [](UpdateMessage& m) { m.report.loss = kInfinity; }},
      {"its report has numbers that are not finite", [](UpdateMessage& m) { m.report.gradient_norm = -kInfinity; }},
      {"its report says 1000000 rows; it has 60", [](UpdateMessage& m) { m.report.rows = 1'000'000; }},
      {"it undid more steps than it took", [](UpdateMessage& m) { m.report.rejected = 1; }},
      {"more noisy releases than the 0 it was allowed",
       [](UpdateMessage& m) {
         m.report.releases = {{1, 1, 1}};
       }},
      {"gradient examples in 0 steps; at most 60", [](UpdateMessage& m) { m.report.examples = std::uint64_t{1} << 63; }},
      {"gradient examples in 200 steps; at most 60", [](UpdateMessage& m) { m.report.steps = 200; }},
  });
}

TEST_CASE("reports that no training can have given end their connection; the round waits for the honest one") {
  check_refused({
      {"its report says that its loss is -1e+300; possible is 0 to", [](UpdateMessage& m) { m.report.loss = -1e300; }},
      {"its report says that its loss is 1e+30; possible is 0 to", [](UpdateMessage& m) { m.report.loss = 1e30; }},
      {"its report says that its learning rate is -1; possible is", [](UpdateMessage& m) { m.report.learning_rate = -1; }},
      {"its report says that its learning rate is 1e+39; possible is", [](UpdateMessage& m) { m.report.learning_rate = 1e39; }},
      {"its report says that its clipped share is 1.5; possible is 0 to 1",
       [](UpdateMessage& m) { m.report.clipped_share = 1.5; }},
      {"its report tells of clipped gradients", [](UpdateMessage& m) { m.report.gradient_norm = 2; }},
      {"its report says that the sum of 0 statistics is -1; possible is 0 to 0",
       [](UpdateMessage& m) { m.report.statistic = -1; }},
      {"its report says that the sum of 1 statistics is inf; possible is 0 to 1e+200",
       [](UpdateMessage& m) { m.report.statistic = std::numeric_limits<double>::infinity(), m.report.statistics = 1; }},
      {"its report says that the sum of 1 statistics is nan",
       [](UpdateMessage& m) { m.report.statistic = std::numeric_limits<double>::quiet_NaN(), m.report.statistics = 1; }},
      {"its report has statistics of 1000 steps; it took ", [](UpdateMessage& m) { m.report.statistics = 1000; }},
      {"its report has statistics of its steps; the experiment's optimizer pools none",
       [](UpdateMessage& m) { m.report.examples = m.report.steps = m.report.statistics = 1; }},
      {"its report says that its personal model is right on 3 of 2 examples",
       [](UpdateMessage& m) { m.report.personal_examples = 2, m.report.personal_correct = 3; }},
      {"its report says that its personal model is right on 0 of 0 examples, with a loss of 1",
       [](UpdateMessage& m) { m.report.personal_loss = 1; }},
      {"its report says that its personal model's loss is -1; possible is 0 to",
       [](UpdateMessage& m) { m.report.personal_examples = 2, m.report.personal_loss = -1; }},
      {"its report says that its personal model was tested on 2 answers; it has 0 for that",
       [](UpdateMessage& m) { m.report.personal_examples = 2; }},
      {"its report says that it left out 3 of 0 examples", [](UpdateMessage& m) { m.report.nonfinite = 3; }},
      {"its report says that it took 9 steps with 5 gradient examples",
       [](UpdateMessage& m) {
         m.report.steps = 9;
         m.report.examples = 5;
       }},
      {"of its 0 noisy releases had no example", [](UpdateMessage& m) { m.report.empty_lots = 1; }},
  });
}

TEST_CASE("one false client with the largest update there is changes nothing where updates are bounded, and is named") {
  const Words settings{"--optimizer", "sgd", "--rounds", "1", "--max-update-norm", "10"};
  const auto model_with = [&](bool huge) {
    const Federation federation(settings);
    const Party coordinator = federation.serve();
    const Introduction known = introduce(federation, 2);
    const Party honest[] = {federation.join(0), federation.join(1)};
    const FalseClient liar(federation.port(), known);
    UpdateMessage update = liar.update(known);
    if (huge) {
      for (float& number : update.change) number = 4e6F;
    } else {
      update.diverged = true;
      update.change = Vector();
    }
    liar.peer.say(update);
    CHECK(liar.peer.hear<Received>());
    CHECK(coordinator.says(huge ? "round 1, client 2: its update has norm " : "round 1, client 2: its training diverged"));
    CHECK(liar.peer.hear<Finished>());
    CHECK(coordinator.wait() == 0);
    for (const Party& client : honest) CHECK(client.wait() == 0);
    return rounds_of(federation.out()).back().hash;
  };
  CHECK(model_with(true) == model_with(false));
}

TEST_CASE("frames that are broken, too long or out of place end their connection; the round goes on") {
  Infiltrated scene;
  const std::string update = *encode(UpdateMessage{});
  const std::vector<std::pair<std::string, std::string>> frames{
      {"is not a fedstride frame", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {"it speaks protocol version 9", with(update, 4, 9, 2)},
      {"it sent a frame of kind 77", with(update, 6, 77, 2)},
      {"'update' frame claims 18446744073709551615 bytes", with(update, 8, ~std::uint64_t{0}, 8)},
      {"a frame of it was damaged on the way", with(update, 20, 0x0101, 2)},
      {"a frame of kind 'model' has no place here", *encode(ModelMessage{})},
      {"a frame of kind 'hello' has no place here", *encode(scene.known.hello)},
      {"a frame of kind 'ready' has no place here", *encode(scene.known.ready)},
      {"'update' frame is malformed", *make_frame(FrameKind::update, std::string(kHeaderBytes + 40, '\1'))},
      {"'heartbeat' frame is malformed", *make_frame(FrameKind::heartbeat, std::string(kHeaderBytes + 40, '\1'))},
  };
  for (const auto& frame : frames) {
    CAPTURE(frame.first);
    const FalseClient liar = scene.liar();
    liar.peer.send(frame.second);
    while (liar.peer.next()) {
    }
    CHECK(scene.coordinator.says(frame.first));
  }
  scene.finish();
}

TEST_CASE("whoever begins with anything but hello is refused; so is who sends bytes without end") {
  Infiltrated scene;
  const Frame first_frames[] = {encode(scene.known.ready), encode(UpdateMessage{}), encode(Heartbeat{}), encode(Welcome{})};
  for (const Frame& frame : first_frames) {
    const Peer liar(calling(scene.federation.port()));
    liar.send(*frame);
    const auto refused = liar.hear<Refused>();
    REQUIRE(refused);
    CHECK(refused->reason.find("has no place here") != std::string::npos);
    CHECK(!liar.next());
  }
  const FalseClient flood = scene.liar();
  const std::string heartbeats = [] {
    std::string all;
    for (int i = 0; i < 200; ++i) all += *encode(Heartbeat{});
    return all;
  }();
  while (flood.peer.send(heartbeats)) {
  }
  CHECK(scene.coordinator.says("bytes it may"));
  scene.finish();
}

}  // namespace fedstride::test::network_false_client_test
