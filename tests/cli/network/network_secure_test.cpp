// Secure aggregation over the network: the model is that of a run in one process, whoever is killed at whatever stage.
#include "dp/ledger/audit.hpp"
#include "tests/cli/network/federation.hpp"
#include "tests/cli/network/frame_watch.hpp"
#include "tests/support/sanitized.hpp"

namespace fedstride::test::network_secure_test {
namespace {

Words secure(Words more = {}) {
  more.insert(more.end(), {"--secure-aggregation", "real"});
  return more;
}

/// Noise in shares, whose draws have the addresses that they have in a run.
Words noisy(Words more = {}) {
  more.insert(more.end(), {"--optimizer", "sgd", "--dp", "client", "--clip", "0.5", "--noise-multiplier", "1", "--client-noise",
                           "distributed", "--randomness", "seeded"});
  return secure(more);
}

void finish(const Party& coordinator, const std::vector<Party>& clients, const Federation& federation) {
  CHECK_MESSAGE(coordinator.wait() == 0, coordinator.err());
  for (const Party& client : clients) CHECK_MESSAGE(client.wait() == 0, client.err());
  federation.check_undisturbed();
}

/// The stage of a frame of secure aggregation; -1 for others. Stage s of the coordinator asks for that of the client, s + 1.
int stage_of(FrameKind kind, const std::string& body) {
  if (kind == FrameKind::masked) return 3;
  if (kind == FrameKind::secured) return static_cast<int>(decode<SecuredMessage>(body)->stage);
  if (kind == FrameKind::secure) return static_cast<int>(decode<SecureMessage>(body)->stage);
  return -1;
}

}  // namespace

TEST_CASE("the models are those of a run in one process, with and without secure aggregation") {
  for (const Words& settings :
       std::vector<Words>{{"--optimizer", "adadp"},
                          {"--optimizer", "sgd", "--local-objective", "scaffold"},
                          {"--optimizer", "pooled", "--weights", "examples", "--server-optimizer", "restore"},
                          {"--optimizer", "sgd", "--secure-grid", "4,2^-16,32"}}) {
    CAPTURE(settings[1]);
    Words all = settings;
    all.insert(all.end(), {"--rounds", "2"});
    const Federation federation(secure(all));
    const Party coordinator = federation.serve();
    finish(coordinator, federation.join_all(), federation);
    if (settings.back().ends_with("32")) continue;
    const Federation plain(all);
    const Party open = plain.serve();
    const std::vector<Party> clients = plain.join_all();
    CHECK(open.wait() == 0);
    CHECK(rounds_of(plain.out()) == rounds_of(federation.out()));
  }
}

TEST_CASE("noise that clients add: the models and the ledger are those of a run; a client's own ledger says the same") {
  for (const Words& law : std::vector<Words>{{}, {"--noise-law", "discrete-gaussian", "--secure-grid", "1,2^-20,64"}}) {
    Words settings = noisy({"--rounds", "2", "--minimum-survivors", "3"});
    settings.insert(settings.end(), law.begin(), law.end());
    const Federation federation(settings);
    const Party coordinator = federation.serve();
    finish(coordinator, federation.join_all(), federation);
    const auto ledger = [](const std::string& folder) {
      const std::string text = read_file(folder + "/ledger.jsonl");
      return text.substr(text.find("\"statements\""));
    };
    CHECK(ledger(federation.out()) == ledger(federation / "undisturbed"));
    const auto audited = [](const std::string& folder) {
      const Audit audit = audit_ledger(folder + "/ledger.jsonl", {}, {}, false);
      CHECK(audit.failures.empty());
      return audit.statements.at(0).statement.epsilon;
    };
    CHECK(audited(federation.out()) > 1);
    CHECK(audited(federation.client_folder(1)) == audited(federation.out()));
  }
}

TEST_CASE("a client killed before each of its messages comes back, and the models are the same") {
  for (const Words& settings : {secure({"--optimizer", "adadp", "--rounds", "6", "--secure-dropouts", "0.34"}),
                                noisy({"--rounds", "6", "--secure-dropouts", "0.34"})}) {
    const Federation federation(settings);
    const Party coordinator = federation.serve();
    std::atomic<int> next{0};
    std::atomic<bool> wants_kill{false};
    const FrameWatch watch(federation.port(), [&](FrameKind kind, const std::string& body, bool to_client) {
      if (!to_client || stage_of(kind, body) != next) return true;
      ++next;
      wants_kill = true;
      eventually([&] { return !wants_kill; });
      return false;
    });
    std::vector<Party> clients;
    for (const int client : {0, 1}) clients.push_back(federation.join(client));
    clients.push_back(federation.join(2, watch.port()));
    for (int stage = 0; stage < 5; ++stage) {
      REQUIRE(eventually([&] { return wants_kill.load(); }));
      REQUIRE(clients[2].kill() == -SIGKILL);
      wants_kill = false;
      clients[2] = federation.join(2, watch.port());
    }
    finish(coordinator, clients, federation);
  }
}

// Of four clients none may be missing. 20 kills under ./run-tests --all, else one in each stage.
TEST_CASE("with a round deadline that has passed, a client killed in any stage ends nothing: the round waits for it") {
  const int kills = every_check() ? 20 : 5;
  const Federation federation(secure({"--optimizer", "sgd", "--rounds", std::to_string(kills + 1)}), 4);
  const Party coordinator = federation.serve({"--round-deadline", "0.2"});
  std::atomic<int> stage{0};
  std::atomic<bool> wants_kill{false};
  const FrameWatch watch(federation.port(), [&](FrameKind kind, const std::string& body, bool to_client) {
    if (!to_client || wants_kill || stage_of(kind, body) != stage) return true;
    wants_kill = true;
    eventually([&] { return !wants_kill; });
    return false;
  });
  std::vector<Party> clients;
  for (const int client : {0, 1, 3}) clients.push_back(federation.join(client));
  clients.push_back(federation.join(2, watch.port()));
  for (int kill = 0; kill < kills; ++kill) {
    REQUIRE(eventually([&] { return wants_kill.load(); }));
    REQUIRE(clients[3].kill() == -SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    stage = kill + 1 < kills ? (kill + 1) % 5 : -2;
    wants_kill = false;
    clients[3] = federation.join(2, watch.port());
  }
  finish(coordinator, clients, federation);
}

TEST_CASE("a coordinator killed in each stage goes on with the same command, and the models are the same") {
  for (const Words& settings : {secure({"--optimizer", "adadp", "--rounds", "6"}), noisy({"--rounds", "6"})}) {
    const Federation federation(settings);
    std::atomic<int> next{1};
    std::atomic<bool> wants_kill{false};
    const FrameWatch watch(federation.port(), [&](FrameKind kind, const std::string& body, bool to_client) {
      if (to_client || stage_of(kind, body) != next) return true;
      ++next;
      wants_kill = true;
      eventually([&] { return !wants_kill; });
      return false;
    });
    auto coordinator = std::make_unique<Party>(federation.serve());
    std::vector<Party> clients;
    clients.push_back(federation.join(0, watch.port()));
    for (const int client : {1, 2}) clients.push_back(federation.join(client));
    for (int stage = 1; stage <= 5; ++stage) {
      REQUIRE(eventually([&] { return wants_kill.load(); }));
      REQUIRE(coordinator->kill() == -SIGKILL);
      wants_kill = false;
      coordinator = std::make_unique<Party>(federation.serve());
    }
    finish(*coordinator, clients, federation);
    CHECK(read_file(federation.out() + "/survivors").ends_with("\n6 0 1 2"));  // also after a restart
  }
}

TEST_CASE(
    "a round that could not be unmasked is not attempted over another list: it ends without a sum, and the federation goes on") {
  const Federation federation(secure({"--optimizer", "sgd", "--rounds", "2", "--secure-dropouts", "0.34"}));
  const Party coordinator = federation.serve({"--round-deadline", "5"});
  std::atomic<int> held{0};
  std::atomic<bool> gone{false};
  const FrameWatch watch(federation.port(), [&](FrameKind kind, const std::string& body, bool to_client) {
    if (gone || !to_client || stage_of(kind, body) != 4) return true;
    ++held;
    eventually([&] { return gone.load(); });
    return false;
  });
  std::vector<Party> clients;
  clients.push_back(federation.join(0));
  for (const int client : {1, 2}) clients.push_back(federation.join(client, watch.port()));
  REQUIRE(eventually([&] { return held == 2; }));
  for (const int client : {1, 2}) REQUIRE(clients[client].kill() == -SIGKILL);
  gone = true;
  clients[1] = federation.join(1);
  CHECK(coordinator.says("round 1", "unmasked before is missing", "ends without a sum"));
  CHECK_MESSAGE(coordinator.has_said("round 1", "seed", "1 share"), coordinator.err());
  clients[2] = federation.join(2);
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  const auto rounds = rounds_of(federation.out());
  REQUIRE(rounds.size() == 2);
  CHECK(rounds[0].hash != rounds[1].hash);
}

TEST_CASE("masks that are not there, and drop-outs that are drawn, are refused over a network") {
  const auto refused = [](const Words& settings) {
    const Outcome outcome = run_program(Federation(settings).serve_words());
    CHECK(outcome.code == 2);
    return outcome.err;
  };
  CHECK(names(refused({"--secure-aggregation", "ring"}), {"secure-aggregation", "'ring'", "'real'"}));
  CHECK(names(refused(secure({"--secure-leaving", "0.1"})), {"secure-leaving", "0.1", "not simulated"}));
  CHECK(names(refused(secure({"--aggregation", "median"})), {"aggregation", "'median'", "the server sees only their sum"}));
}

}  // namespace fedstride::test::network_secure_test
