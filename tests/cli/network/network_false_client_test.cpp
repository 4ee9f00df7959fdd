#include <functional>
#include <limits>

#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_false_client_test {
namespace {

std::string with(std::string bytes, std::size_t at, std::uint64_t number, int count) {
  for (int i = 0; i < count; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(number >> (8 * i));
  return bytes;
}

/// A federation whose client 2 is malicious at first, while the others are honest and wait for it.
struct Infiltrated {
  Federation federation{{"--optimizer", "sgd", "--rounds", "2"}};
  Party coordinator = federation.serve({"--heartbeat", "10"});
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
  /// The honest client 2 joins; nothing sent by the malicious one may be in the model.
  void finish() {
    honest.push_back(federation.join(2));
    CHECK(coordinator.wait() == 0);
    for (const Party& client : honest) CHECK(client.wait() == 0);
    federation.check_undisturbed();
  }
};

struct Lie {
  std::vector<std::string_view> parts;  ///< named by the refusal
  std::function<void(UpdateMessage&)> tell;
};

void check_refused(const std::vector<Lie>& lies) {
  Infiltrated scene;
  for (const Lie& lie : lies) {
    const FalseClient liar = scene.liar();
    UpdateMessage update = liar.update(scene.known);
    lie.tell(update);
    liar.peer.say(update);
    const auto refused = liar.peer.hear<Refused>();
    REQUIRE(refused);
    for (const std::string_view part : lie.parts) CHECK_MESSAGE(names(refused->reason, {part}), part << ": " << refused->reason);
    CHECK(!liar.peer.next());
    CHECK(scene.coordinator.says(refused->reason));
  }
  scene.finish();
}

}  // namespace

TEST_CASE("an update with another shape, round, model or client ends the connection; the round waits for the honest one") {
  check_refused({
      {{"11 entries", "12"}, [](UpdateMessage& m) { m.change = Vector(m.change.size() - 1); }},
      {{"0 entries", "12"}, [](UpdateMessage& m) { m.change = Vector(); }},
      {{"diverged", "12 entries"}, [](UpdateMessage& m) { m.diverged = true; }},
      {{"round 7", "1"}, [](UpdateMessage& m) { m.round = 7; }},
      {{"model"}, [](UpdateMessage& m) { m.model_hash[0] ^= 1; }},
      {{"client 1"}, [](UpdateMessage& m) { m.report.client = 1; }},
      {{"client 4000000000"}, [](UpdateMessage& m) { m.report.client = 4'000'000'000; }},
  });
}

TEST_CASE("numbers that are not finite or impossible end the connection; the round waits for the honest one") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  check_refused({
      {{"update", "2^22"}, [](UpdateMessage& m) { m.change[3] = kNan; }},
      {{"update", "2^22"}, [](UpdateMessage& m) { m.change[0] = -kInfinity; }},
      {{"update", "2^22"}, [](UpdateMessage& m) { m.change[0] = 5e6F; }},
      {{"report", "finite"}, [](UpdateMessage& m) { m.report.loss = kInfinity; }},
      {{"report", "finite"}, [](UpdateMessage& m) { m.report.gradient_norm = -kInfinity; }},
      {{"1000000 rows", "60"}, [](UpdateMessage& m) { m.report.rows = 1'000'000; }},
      {{"steps"}, [](UpdateMessage& m) { m.report.rejected = 1; }},
      {{"releases", "0"},
       [](UpdateMessage& m) {
         m.report.releases = {{1, 1, 1}};
       }},
      {{"9223372036854775808", "0 steps", "60"}, [](UpdateMessage& m) { m.report.examples = std::uint64_t{1} << 63; }},
      {{"0", "200 steps", "60"}, [](UpdateMessage& m) { m.report.steps = 200; }},
  });
}

// A coordinator prints at most 40 lines a second; each lie is two of them.
TEST_CASE("impossible reports end the connection; the round waits for the honest one") {
  check_refused({
      {{"loss", "-1e+300", "0", "1e+06"}, [](UpdateMessage& m) { m.report.loss = -1e300; }},
      {{"loss", "1e+30", "0", "1e+06"}, [](UpdateMessage& m) { m.report.loss = 1e30; }},
      {{"learning rate", "-1", "0"}, [](UpdateMessage& m) { m.report.learning_rate = -1; }},
      {{"learning rate", "1e+39", "0"}, [](UpdateMessage& m) { m.report.learning_rate = 1e39; }},
      {{"clipped share", "1.5", "0", "1"}, [](UpdateMessage& m) { m.report.clipped_share = 1.5; }},
      {{"report", "clipped"}, [](UpdateMessage& m) { m.report.gradient_norm = 2; }},
      {{"-1", "0"}, [](UpdateMessage& m) { m.report.statistic = -1; }},
      {{"inf", "0", "1e+200"},
       [](UpdateMessage& m) { m.report.statistic = std::numeric_limits<double>::infinity(), m.report.statistics = 1; }},
      {{"nan", "1"},
       [](UpdateMessage& m) { m.report.statistic = std::numeric_limits<double>::quiet_NaN(), m.report.statistics = 1; }},
      {{"1000"}, [](UpdateMessage& m) { m.report.statistics = 1000; }},
      {{"statistics", "optimizer"}, [](UpdateMessage& m) { m.report.examples = m.report.steps = m.report.statistics = 1; }},
      {{"3", "0"}, [](UpdateMessage& m) { m.report.nonfinite = 3; }},
      {{"9 steps", "5"},
       [](UpdateMessage& m) {
         m.report.steps = 9;
         m.report.examples = 5;
       }},
      {{"1", "0", "releases"}, [](UpdateMessage& m) { m.report.empty_lots = 1; }},
  });
}

TEST_CASE("impossible reports of a personal model end the connection; the round waits for the honest one") {
  check_refused({
      {{"personal", "3", "2"}, [](UpdateMessage& m) { m.report.personal_examples = 2, m.report.personal_correct = 3; }},
      {{"personal", "0", "loss", "1"}, [](UpdateMessage& m) { m.report.personal_loss = 1; }},
      {{"personal", "loss", "-1", "0"}, [](UpdateMessage& m) { m.report.personal_examples = 2, m.report.personal_loss = -1; }},
      {{"personal", "2", "0"}, [](UpdateMessage& m) { m.report.personal_examples = 2; }},
  });
}

TEST_CASE("impossible pairs of steps end the connection; the round waits for the honest one") {
  check_refused({
      {{"pairs 3", "steps 0"}, [](UpdateMessage& m) { m.report.pairs = 3; }},
      {{"pairs 1", "1.5"},
       [](UpdateMessage& m) { m.report.examples = m.report.steps = m.report.pairs = 1, m.report.alignment = 1.5; }},
      {{"statistics", "optimizer"}, [](UpdateMessage& m) { m.report.examples = m.report.steps = m.report.pairs = 1; }},
  });
}

TEST_CASE("a malicious client with the largest possible update changes nothing if updates are bounded, and is named") {
  const Words settings{"--optimizer", "sgd", "--rounds", "1", "--max-update-norm", "10"};
  const auto model_with = [&](bool huge) {
    const Federation federation(settings);
    const Party coordinator = federation.serve({"--heartbeat", "10"});  // the false client sends none
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
    CHECK(coordinator.says("round 1", "client 2", huge ? "norm" : "diverged"));
    CHECK(liar.peer.hear<Finished>());
    CHECK(coordinator.wait() == 0);
    for (const Party& client : honest) CHECK(client.wait() == 0);
    return rounds_of(federation.out()).back().hash;
  };
  CHECK(model_with(true) == model_with(false));
}

TEST_CASE("frames that are damaged, too long or unexpected end the connection; the round continues") {
  Infiltrated scene;
  const std::string update = *encode(UpdateMessage{});
  const std::vector<std::pair<std::vector<std::string>, std::string>> frames{
      {{"it", "fedstride"}, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
      {{"version", "99"}, with(update, 4, 99, 2)},
      {{"kind", "77"}, with(update, 6, 77, 2)},
      {{"'update'", "18446744073709551615 bytes"}, with(update, 8, ~std::uint64_t{0}, 8)},
      {{"frames", "damaged"}, with(update, 20, 0x0101, 2)},
      {{"unexpected", "'model'"}, *encode(ModelMessage{})},
      {{"unexpected", "'hello'"}, *encode(scene.known.hello)},
      {{"unexpected", "'ready'"}, *encode(scene.known.ready)},
      {{"malformed", "'update'"}, *make_frame(FrameKind::update, std::string(kHeaderBytes + 40, '\1'))},
      {{"malformed", "'heartbeat'"}, *make_frame(FrameKind::heartbeat, std::string(kHeaderBytes + 40, '\1'))},
  };
  for (const auto& frame : frames) {
    const FalseClient liar = scene.liar();
    liar.peer.send(frame.second);
    while (liar.peer.next()) {
    }
    CHECK_MESSAGE(scene.coordinator.says(frame.first.front(), frame.first.back()), frame.first.back());
  }
  scene.finish();
}

TEST_CASE("a peer that starts with anything but hello is refused, and so is one that sends endless bytes") {
  Infiltrated scene;
  const Frame first_frames[] = {encode(scene.known.ready), encode(UpdateMessage{}), encode(Heartbeat{}), encode(Welcome{})};
  for (const Frame& frame : first_frames) {
    const Peer liar(calling(scene.federation.port()));
    liar.send(*frame);
    const auto refused = liar.hear<Refused>();
    REQUIRE(refused);
    CHECK(names(refused->reason, {"unexpected"}));
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
  CHECK(scene.coordinator.says("client 2", "bytes"));
  scene.finish();
}

}  // namespace fedstride::test::network_false_client_test
