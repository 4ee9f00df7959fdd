#include "sim/net/certificates.hpp"
#include "sim/net/x509.hpp"
#include "tests/cli/network/federation.hpp"

namespace fedstride::test::network_deny_test {
namespace {

struct Guarded {
  Federation federation{{"--optimizer", "sgd", "--rounds", "3"}};
  std::string denied = federation / "denied";
  Guarded() { federation.use_certificates(); }
  void deny(const std::string& lines) const { write_file(denied, lines); }
  std::string serial_of(ClientId client) const {
    return facts_of(read_certificate(client_files(federation.certificates(), client).certificate).get()).serial;
  }
};

}  // namespace

TEST_CASE("a denied client is informed and leaves permanently; removed from the list, it can join again") {
  const Guarded scene;
  scene.deny("# not yet admitted\nserial " + scene.serial_of(0) + "\n");
  const Party coordinator = scene.federation.serve({"--deny", scene.denied});
  const Party client = scene.federation.join(0);
  CHECK(client.wait() == 3);
  CHECK(client.has_said("'serial " + scene.serial_of(0) + "'"));
  CHECK(rounds_of(scene.federation.out()).empty());

  scene.deny("client-x\n");
  coordinator.signal(SIGHUP);
  CHECK(coordinator.says(scene.denied, "line 1", "'client-K'"));
  CHECK(scene.federation.join(0).wait() == 3);

  scene.deny("");
  coordinator.signal(SIGHUP);
  CHECK(coordinator.says(scene.denied, "0 entries"));
  const auto clients = scene.federation.join_all();
  CHECK(coordinator.wait() == 0);
  for (const Party& one : clients) CHECK(one.wait() == 0);
  scene.federation.check_undisturbed();
}

TEST_CASE("a client denied while connected leaves, and rounds do not wait for it") {
  const Guarded scene;
  scene.deny("");
  const Party coordinator = scene.federation.serve({"--deny", scene.denied});
  const Party out = scene.federation.join(2);
  CHECK(coordinator.says("client 2", "joined"));
  const Party first = scene.federation.join(0);
  scene.deny("client-2\n");
  coordinator.signal(SIGHUP);
  CHECK(coordinator.says(scene.denied, "1 entry"));
  const Party second = scene.federation.join(1);
  CHECK(coordinator.wait() == 0);
  CHECK(first.wait() == 0);
  CHECK(second.wait() == 0);
  out.wait();
  CHECK(rounds_of(scene.federation.out()).size() == 3);
  CHECK(out.has_said("'client-2'"));
}

TEST_CASE("with a name denied from the start, a round ends when the others have answered") {
  const Guarded scene;
  scene.deny("client-1\n");
  const Party coordinator = scene.federation.serve({"--deny", scene.denied});
  const Party first = scene.federation.join(0);
  const Party third = scene.federation.join(2);
  CHECK(coordinator.wait() == 0);
  CHECK(first.wait() == 0);
  CHECK(third.wait() == 0);
  CHECK(coordinator.has_said("closed", "client 1"));
}

TEST_CASE("both sides log certificates that expire soon; clients can use bundles") {
  const Federation federation{{"--optimizer", "sgd", "--rounds", "2"}};
  const std::string certificates = federation / "short";
  make_certificates(certificates, {.clients = 3, .days = 12, .bundles = true});
  Words serve = federation.serve_words();
  serve.erase(std::ranges::find(serve, "--insecure-loopback"));
  serve.insert(serve.end(), {"--certificates", certificates});
  const Party coordinator(serve);
  // "11 days", or "12 days" within the second in which they were made.
  CHECK(coordinator.says("coordinator", "days", "--renew"));
  std::vector<Party> clients;
  for (int client = 0; client < 3; ++client) {
    Words join = federation.join_words(client);
    join.erase(std::ranges::find(join, "--insecure-loopback"));
    join.insert(join.end(), {"--certificates", certificates + "/client-" + std::to_string(client) + ".bundle.pem"});
    clients.emplace_back(join);
  }
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) {
    CHECK(client.wait() == 0);
    CHECK(client.has_said("days", "--renew"));
  }
  CHECK(coordinator.has_said("client 0", "days"));
  federation.check_undisturbed();
}

TEST_CASE("the deny list must exist; a status page that others can reach needs a token") {
  const Guarded scene;
  const auto refused = [&](const Words& more, std::initializer_list<std::string_view> parts) {
    const Outcome outcome = run_program(scene.federation.serve_words(more));
    CHECK(outcome.code != 0);
    CHECK_MESSAGE(names(outcome.err, parts), outcome.err);
  };
  const std::string token = scene.federation / "token";
  refused({"--deny", scene.denied}, {scene.denied});
  refused({"--status", "0.0.0.0:0"}, {"status", "'0.0.0.0:0'", "--status-token"});
  refused({"--status-token", token}, {"--status"});
  write_file(token, "0123456789abcdef\n");
  refused({"--status", "0.0.0.0:0", "--status-token", token}, {"chmod 600 " + token});
}

}  // namespace fedstride::test::network_deny_test
