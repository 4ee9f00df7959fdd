#include <sys/stat.h>

#include <limits>

#include "core/text.hpp"
#include "dp/accountants/accountants.hpp"
#include "nn/model.hpp"
#include "sim/net/packing.hpp"
#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_false_coordinator_test {
namespace {

/// The experiment of an honest coordinator that has ended, and its request in round 1.
struct Scene {
  Federation federation;
  Introduction known;
  ModelMessage model;
  Train train;

  explicit Scene(const Words& settings) : federation(settings) {
    const Party coordinator = federation.serve();
    known = introduce(federation, 0);
    const FalseClient asked(federation.port(), known);
    model = asked.model;
    train = asked.train;
    REQUIRE(train.round == 1);
  }
};

/// An honest client connected to a malicious coordinator, as far as ready.
class Captive {
 public:
  explicit Captive(const Scene& scene, const Words& more = {})
      : client(words(scene, port_of(listener_.get()), more)), welcome_(scene.known.welcome) {
    meet();
  }
  /// Accepts its next connection.
  void meet() {
    peer_ = std::make_unique<Peer>(Socket(accept(listener_.get(), nullptr, nullptr)));
    CHECK(peer_->hear<Hello>());
    peer_->say(welcome_);
    ready = peer_->hear<Ready>().value_or(Ready{});
  }
  std::optional<UpdateMessage> ask(const ModelMessage& model, const Train& train) const {
    peer_->say(model);
    peer_->say(train);
    return peer_->hear<UpdateMessage>();
  }
  int code = 3;  ///< refused for good
  /// Ended with that exit code and a line that names these.
  template <class... Parts>
  void check_left(const Parts&... parts) {
    peer_->hang_up();
    CHECK(client.wait() == code);
    CHECK_MESSAGE(client.has_said("fedstride: ", parts...), client.err());
  }
  const Peer& peer() const { return *peer_; }

 private:
  static Words words(const Scene& scene, std::uint16_t port, const Words& more) {
    Words all = scene.federation.join_words(0, port);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  Socket listener_ = listening(0);
  std::unique_ptr<Peer> peer_;

 public:
  Party client;
  Ready ready;

 private:
  Welcome welcome_;
};

/// The hash of a model that is sent packed.
std::string hash_of(Vector packed) {
  Packing(Model::parse("logistic", {1, 1, 3}, 3)).unpack(packed);
  return model_hash(packed);
}

/// Another model of a round, and the request to train it.
std::pair<ModelMessage, Train> another(const Scene& scene) {
  ModelMessage model = scene.model;
  CHECK(model.model_hash == hash_of(model.model));
  model.model[0] += 1;
  model.model_hash = hash_of(model.model);
  Train train = scene.train;
  train.model_hash = model.model_hash;
  return {model, train};
}

const Words kPrivate{"--optimizer", "sgd", "--rounds", "3", "--dp", "example", "--noise-multiplier", "1"};

}  // namespace

TEST_CASE("a client answers a repeated round with the same bits and refuses it with another model, restarted or not") {
  const Scene scene(kPrivate);
  const auto [other_model, other_train] = another(scene);
  CHECK(scene.known.welcome.settings.find("secret") != std::string::npos);
  CHECK(scene.train.is_private);
  std::optional<UpdateMessage> first;
  {
    Captive captive(scene);
    first = captive.ask(scene.model, scene.train);
    REQUIRE(first);
    Train other_told = scene.train;  // other numbers in told would also reuse the noise for another input
    other_told.told = {0.5};
    CHECK(!captive.ask(scene.model, other_told));
    captive.check_left("round 1", "model");
  }
  {
    Captive captive(scene);
    CHECK(!captive.ask(other_model, other_train));
    captive.check_left("round 1", "model");
  }
  const std::string folder = scene.federation.client_folder(0);
  struct stat key {};
  REQUIRE(stat((folder + "/secret.key").c_str(), &key) == 0);
  CHECK((key.st_mode & 0777) == 0600);
  const std::string ledger = read_file(folder + "/ledger.jsonl");
  CHECK(ledger.find("secret") != std::string::npos);
  {
    Captive captive(scene);
    CHECK(captive.ready.last_round == 1);
    const auto again = captive.ask(scene.model, scene.train);
    REQUIRE(again);
    CHECK(*encode(*again) == *encode(*first));
    CHECK(!captive.ask(other_model, other_train));
    captive.check_left("round 1", "model");
  }
  {
    Captive captive(scene);
    CHECK(!captive.ask(other_model, other_train));
    captive.check_left("round 1", "model");
  }
  // Nothing refused is in the ledger.
  CHECK(read_file(folder + "/ledger.jsonl") == ledger);
}

TEST_CASE("numbers in told that its optimizer cannot use end a client's round") {
  const Scene scene({"--optimizer", "pooled", "--rounds", "3"});
  REQUIRE(scene.train.told.size() == 5);
  for (const std::vector<double>& told : {std::vector<double>{1},
                                          {0, 1, 1, 1, 1},
                                          {1, 1, 0, 1, 1},
                                          {1, -1, 1, 1, 1},
                                          {1, 1, 1, 1, -std::numeric_limits<double>::infinity()}}) {
    Captive captive(scene);
    Train train = scene.train;
    train.told = told;
    CHECK(!captive.ask(scene.model, train));
    captive.code = 1;
    captive.check_left("'pooled'", "5");
  }
}

TEST_CASE("a client killed between reserving and answering counts what it may have released, once") {
  const Scene scene(kPrivate);
  {
    Captive captive(scene);
    captive.peer().say(scene.model);
    captive.peer().say(scene.train);
    CHECK(eventually([&] { return line_count(read_file(scene.federation.client_folder(0) + "/ledger.jsonl")) >= 2; }));
    captive.client.kill();
  }
  Captive captive(scene);
  const auto first = captive.ask(scene.model, scene.train);
  REQUIRE(first);
  Train second = scene.train;
  second.round = 2;
  ModelMessage model = scene.model;
  model.round = 2;
  CHECK(captive.ask(model, second));
  const std::string ledger = read_file(scene.federation.client_folder(0) + "/ledger.jsonl");
  CHECK(line_count(ledger) == 5);  // header, then a reservation and an execution for each of two rounds
}

TEST_CASE("a client checks a coordinator against its own ledger: no more releases, and none without noise") {
  Words budget = kPrivate;
  budget.insert(budget.end(), {"--epsilon", "8"});
  const Scene scene(budget);
  {
    Captive captive(scene);
    Train greedy = scene.train;
    greedy.releases = std::numeric_limits<std::uint64_t>::max();
    CHECK(!captive.ask(scene.model, greedy));
    captive.check_left("round 1", "18446744073709551615", "ledger");
  }
  {
    Captive captive(scene);
    Train open = scene.train;
    open.is_private = false;
    CHECK(!captive.ask(scene.model, open));
    captive.check_left("private");
  }
}

TEST_CASE("a client does not train or answer a round after which its ledger would exceed its own limit") {
  const Scene scene(kPrivate);
  // Lots of 10 of 60 rows: six releases a round.
  const auto epsilon_after = [](std::uint64_t releases) {
    const Spending spending{{.rate = 1.0 / 6, .noise_multiplier = 1, .count = releases}};
    return epsilon_by(Accountant{}, spending, 1e-6).value;
  };
  const double one = epsilon_after(6), two = epsilon_after(12);
  REQUIRE(one < two);
  const std::string folder = scene.federation.client_folder(0);
  Train second = scene.train;
  second.round = 2;
  ModelMessage model = scene.model;
  model.round = 2;

  const Words between{"--max-epsilon", number_text((one + two) / 2), "--delta", "1e-6"};
  std::optional<UpdateMessage> first;
  {
    Captive captive(scene, between);
    first = captive.ask(scene.model, scene.train);
    REQUIRE(first);
    const std::string ledger = read_file(folder + "/ledger.jsonl");
    CHECK(!captive.ask(model, second));
    captive.check_left("round 2", "epsilon");
    CHECK(captive.client.err().find("epsilon " + number_text(two).substr(0, 4)) != std::string::npos);
    CHECK(line_count(captive.client.err().substr(captive.client.err().find("fedstride: "))) == 1);
    CHECK(read_file(folder + "/ledger.jsonl") == ledger);
  }
  {
    Captive captive(scene, between);  // an answered round may be requested again
    const auto again = captive.ask(scene.model, scene.train);
    REQUIRE(again);
    CHECK(*encode(*again) == *encode(*first));
    CHECK(!captive.ask(model, second));
    captive.check_left("round 2", "epsilon");
  }
  {
    Captive captive(scene, {"--max-epsilon", number_text(two * 1.01), "--delta", "1e-6"});
    CHECK(captive.ask(model, second));
  }
}

TEST_CASE("with its own limit, a client leaves an experiment without privacy or with very little noise before answering") {
  const Words limit{"--require-dp", "example", "--max-epsilon", "8"};
  Words little = kPrivate;
  little.back() = "1e-6";
  const Scene scene(little);
  Captive captive(scene, limit);
  CHECK(!captive.ask(scene.model, scene.train));
  captive.check_left("round 1", "epsilon");

  const Scene open({"--optimizer", "sgd"});
  Captive unprotected(open, {"--max-epsilon", "8"});
  unprotected.check_left("max-epsilon", "8");
  const Outcome alone =
      run_program({"join", "--connect", "127.0.0.1:1", "--client", "0", "--insecure-loopback", "--delta", "1e-5"});
  CHECK(alone.code == 2);
  CHECK_MESSAGE(names(alone.err, {"delta", "--max-epsilon"}), alone.err);
}

TEST_CASE(
    "sides of different protocol versions both name the two and the older one, and the client ends once it heard so twice") {
  const Federation federation({"--optimizer", "sgd", "--rounds", "2"});
  const auto of_version = [](const auto& message, int version) {
    std::string bytes = *encode(message);
    bytes[4] = static_cast<char>(version);
    return bytes;
  };
  const std::string here = std::to_string(kProtocolVersion);
  for (const auto& [version, word] : {std::pair{kProtocolVersion - 1, "older"}, std::pair{kProtocolVersion + 1, "newer"}}) {
    const Socket listener = listening(0);
    const Party client = federation.join(0, port_of(listener.get()));
    for (int time = 0; time < 2; ++time) {  // once, it may be a header damaged in transit
      const Peer coordinator(Socket(accept(listener.get(), nullptr, nullptr)));
      CHECK(coordinator.hear<Hello>());
      coordinator.send(of_version(Welcome{}, version));
    }
    CHECK(client.wait() == 3);
    CHECK_MESSAGE(client.has_said("fedstride: ", std::to_string(version), word, here), client.err());
  }
  const Party coordinator = federation.serve();
  const Peer client(calling(federation.port()));
  client.send(of_version(Hello{0, build_identity()}, kProtocolVersion - 1));
  const auto answer = client.hear<Refused>();
  REQUIRE(answer);
  CHECK_FALSE(answer->for_good);
  CHECK(names(answer->reason, {std::to_string(kProtocolVersion - 1), "older", here}));
  CHECK(coordinator.says(std::to_string(kProtocolVersion - 1), "older", here));
}

TEST_CASE("a client disconnects from a coordinator that sends nonsense, gives the reason and reconnects") {
  const Scene scene({"--optimizer", "sgd", "--rounds", "2"});
  Captive captive(scene);
  const auto nonsense = [&](const std::pair<std::string, std::string>& reason, const auto& send) {
    CAPTURE(reason.first);
    send();
    while (captive.peer().next()) {
    }
    CHECK(captive.client.says(reason.first, reason.second));
    captive.meet();
  };
  ModelMessage bent = scene.model, small = scene.model;
  bent.model[1] += 1;
  small.model = Vector(3);
  small.model_hash = model_hash(small.model);
  nonsense({"model", "hash"}, [&] { captive.peer().say(bent); });
  nonsense({"model", "hash"}, [&] { captive.peer().say(small); });
  nonsense({"train", "model"}, [&] { captive.peer().say(scene.train); });
  nonsense({"unexpected", "'hello'"}, [&] { captive.peer().say(scene.known.hello); });
  nonsense({"unexpected", "'welcome'"}, [&] { captive.peer().say(scene.known.welcome); });
  nonsense({"fedstride", "frame"}, [&] { captive.peer().send(std::string(200, 'x')); });
  nonsense({"'model'", "at most"}, [&] {
    std::string bytes = *encode(scene.model);
    bytes[13] = 1;
    captive.peer().send(bytes);
  });
  CHECK(captive.ask(scene.model, scene.train));
}

}  // namespace fedstride::test::network_false_coordinator_test
