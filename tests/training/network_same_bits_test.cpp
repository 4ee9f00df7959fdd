// Takes 50 s of processor time: each objective and attack is launched and run, with certificates and processes.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <numeric>

#include "client/attacks/attack.hpp"
#include "client/objectives/local_objective.hpp"
#include "client/personal/personal.hpp"
#include "core/files.hpp"
#include "core/random.hpp"
#include "data/skew/feature_skew.hpp"
#include "tests/cli/network/federation.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::network_same_bits_test {
namespace {

constexpr int kClients = 5;
constexpr int kRounds = 3;

// One experiment file: adadp-cnn, clients of unequal size, few rows, a rate that is carried on.
std::string experiment_file(const test::TemporaryFolder& folder) {
  write_file(folder / "experiment.toml",
             "clients = 5\npartition = 'dirichlet'\nalpha = 0.5\nvalidation-fraction = 0.95\nrounds = 3\noptimizer = 'adadp'\n"
             "evaluate-every = 3\n");
  return folder / "experiment.toml";
}

// The body of an HTTP answer on loopback.
std::string get(std::uint16_t port, const std::string& path) {
  const test::Socket socket = test::calling(port);
  test::send_all(socket.get(), "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  std::string all;
  char buffer[4096];
  for (ssize_t count; (count = recv(socket.get(), buffer, sizeof buffer, 0)) > 0;)
    all.append(buffer, static_cast<std::size_t>(count));
  const auto body = all.find("\r\n\r\n");
  return body == all.npos ? "" : all.substr(body + 4);
}

bool has_answered(std::uint16_t status_port, int client, int round) {
  const auto status = Json::parse(get(status_port, "/status"), nullptr, false);
  if (!status.is_object()) return false;
  return status["done"] >= round || status["clients"][static_cast<std::size_t>(client)]["last_round"] >= round;
}

// A small federation whose rounds cost next to nothing.
std::string small_experiment(const test::TemporaryFolder& folder, const std::string& name, const std::string& settings) {
  write_file(folder / (name + ".toml"),
             "model = 'dense 8 | relu | dense classes'\nclients = 4\npartition = 'dirichlet'\nalpha = 1.0\n"
             "limit-per-client = 60\nrounds = 3\nevaluate-rows = 50\noptimizer = 'sgd'\nlearning-rate = 0.05\n" +
                 settings);
  return folder / (name + ".toml");
}

}  // namespace

TEST_CASE("whatever clients minimize and attackers do, launch gives the models of run") {
  const test::TemporaryFolder folder;
  std::vector<std::string> cases{"aggregation = 'median'\n",
                                 "server-optimizer = 'yogi'\nserver-learning-rate = 0.05\n",
                                 "cohort = 'power-of-choice'\ncohort-size = 2\ncandidates = 3\n",
                                 "local-objective = 'scaffold'\nscaffold-option = 'one'\n",
                                 "local-objective = 'scaffold'\ncohort = 'fixed'\ncohort-size = 2\ndp = 'client'\nclip = 1.0\n"
                                 "noise-multiplier = 1.0\nrandomness = 'seeded'\n",
                                 "devices = 'lognormal'\ncohort = 'fixed'\ncohort-size = 2\nover-selection = 1.5\n"};
  for (const auto& name : ModePart::family().names())
    cases.push_back("devices = 'lognormal'\nmode = '" + name + "'\n" + (name.starts_with("fed") ? "concurrency = 3\n" : "") +
                    (name == "fedbuff" ? "buffer = 2\n" : ""));
  for (const auto& name : LocalObjectivePart::family().names()) cases.push_back("local-objective = '" + name + "'\n");
  for (const auto& name : AttackPart::family().names())
    cases.push_back("attack = '" + name + "'\n" + (name == "none" ? "" : "attackers = 1\n"));
  for (const auto& name : FeatureSkewPart::family().names())
    cases.push_back("feature-skew = '" + name + "'\npersonal = 'fine-tune'\nclient-test = 0.2\n");
  for (const auto& name : PersonalPart::family().names()) cases.push_back("personal = '" + name + "'\nclient-test = 0.2\n");
  int number = 0;
  for (const std::string& settings : cases) {
    CAPTURE(settings);
    const std::string name = std::to_string(++number);
    const std::string file = small_experiment(folder, name, settings);
    const auto alone = test::run_program({"run", "--config", file, "--quiet", "--out", folder / (name + "-run")});
    REQUIRE_MESSAGE(alone.code == 0, alone.err);
    const auto launched = test::run_program({"launch", "--config", file, "--quiet", "--out", folder / (name + "-launch")});
    CHECK_MESSAGE(launched.code == 0, launched.err);
    CHECK(test::rounds_of(folder / (name + "-launch")) == test::rounds_of(folder / (name + "-run")));
  }
}

TEST_CASE("one experiment file gives the same models through run, launch, and serve with arrivals in another order every round") {
  const test::TemporaryFolder folder;
  const std::string file = experiment_file(folder);
  REQUIRE(test::run_program({"run", "--config", file, "--quiet", "--out", folder / "run"}).code == 0);
  const auto expected = test::rounds_of(folder / "run");
  REQUIRE(expected.size() == kRounds);

  const auto launched = test::run_program({"launch", "--config", file, "--quiet", "--out", folder / "launch"});
  CHECK_MESSAGE(launched.code == 0, launched.err);
  CHECK(test::rounds_of(folder / "launch") == expected);

  const std::uint16_t port = test::quiet_port(), status = test::quiet_port();
  const Party coordinator({"serve", "--config", file, "--insecure-loopback", "--listen", "127.0.0.1:" + std::to_string(port),
                           "--status", "127.0.0.1:" + std::to_string(status), "--heartbeat", "60", "--out", folder / "serve"});
  REQUIRE(coordinator.says("status page at"));
  std::vector<std::unique_ptr<Party>> clients;
  for (int client = 0; client < kClients; ++client)
    clients.push_back(std::make_unique<Party>(Words{"join", "--connect", "127.0.0.1:" + std::to_string(port), "--client",
                                                    std::to_string(client), "--insecure-loopback", "--threads", "1", "--out",
                                                    folder / ("client-" + std::to_string(client))}));
  for (int round = 1; round <= kRounds; ++round) {
    std::vector<int> order(kClients);
    std::iota(order.begin(), order.end(), 0);
    RandomStream random(17, {.purpose = Purpose::test, .round = static_cast<std::uint32_t>(round)});
    shuffle(std::span(order), random);
    for (const auto& client : clients) client->signal(SIGSTOP);
    for (const int client : order) {
      const auto& party = *clients[static_cast<std::size_t>(client)];
      party.signal(SIGCONT);
      CHECK(test::eventually([&] { return has_answered(status, client, round); }));
      if (round < kRounds) party.signal(SIGSTOP);
    }
  }
  for (const auto& client : clients) {
    client->signal(SIGCONT);
    CHECK(client->wait() == 0);
  }
  CHECK(coordinator.wait() == 0);
  CHECK(test::rounds_of(folder / "serve") == expected);
  CHECK(read_file(folder / "serve/model.safetensors") == read_file(folder / "run/model.safetensors"));
}

}  // namespace fedstride::test::network_same_bits_test
