#include "net/certificates.hpp"
#include "net/x509.hpp"
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

TEST_CASE("a denied certificate is told so and left out for good; the others go on without it, and let in it is there again") {
  const Guarded scene;
  scene.deny("# nobody is let in yet\nserial " + scene.serial_of(0) + "\n");
  const Party coordinator = scene.federation.serve({"--deny", scene.denied});
  const Party client = scene.federation.join(0);
  CHECK(client.wait() == 1);
  CHECK(client.has_said("its certificate is denied here ('serial " + scene.serial_of(0) + "')"));
  CHECK(rounds_of(scene.federation.out()).empty());

  scene.deny("client-x\n");
  coordinator.signal(SIGHUP);
  CHECK(coordinator.says("line 1: valid are 'client-K'"));
  CHECK(coordinator.says("the list read before stays in force"));
  CHECK(scene.federation.join(0).wait() == 1);

  scene.deny("");
  coordinator.signal(SIGHUP);
  CHECK(coordinator.says("again: 0 entries"));
  const auto clients = scene.federation.join_all();
  CHECK(coordinator.wait() == 0);
  for (const Party& one : clients) CHECK(one.wait() == 0);
  scene.federation.check_undisturbed();
}

TEST_CASE("a client that is denied while it is connected leaves, and rounds are not held up by it") {
  const Guarded scene;
  scene.deny("");
  const Party coordinator = scene.federation.serve({"--deny", scene.denied});
  const Party out = scene.federation.join(2);
  CHECK(coordinator.says("client 2 (127.0.0.1:"));
  const Party first = scene.federation.join(0);
  const Party second = scene.federation.join(1);
  // In any round: from now on client 2 is not waited for.
  scene.deny("client-2\n");
  coordinator.signal(SIGHUP);
  CHECK(coordinator.wait() == 0);
  CHECK(first.wait() == 0);
  CHECK(second.wait() == 0);
  out.wait();
  CHECK(rounds_of(scene.federation.out()).size() == 3);
  CHECK((out.has_said("its certificate is denied here ('client-2')") || coordinator.has_said("again: 1 entry")));
}

TEST_CASE("with a name denied from the start a round ends when the others have answered") {
  const Guarded scene;
  scene.deny("client-1\n");
  const Party coordinator = scene.federation.serve({"--deny", scene.denied});
  const Party first = scene.federation.join(0);
  const Party third = scene.federation.join(2);
  CHECK(coordinator.wait() == 0);
  CHECK(first.wait() == 0);
  CHECK(third.wait() == 0);
  CHECK(coordinator.has_said("without client 1"));
}

TEST_CASE("certificates that expire soon are told by both sides' logs; bundles do for clients") {
  const Federation federation{{"--optimizer", "sgd", "--rounds", "2"}};
  const std::string certificates = federation / "short";
  make_certificates(certificates, {.clients = 3, .days = 12, .bundles = true});
  Words serve = federation.serve_words();
  serve.erase(std::ranges::find(serve, "--insecure-loopback"));
  serve.insert(serve.end(), {"--certificates", certificates});
  const Party coordinator(serve);
  CHECK(coordinator.says("the coordinator's certificate expires on 20"));
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
    CHECK(client.has_said("expires on 20"));
  }
  CHECK(coordinator.has_said("its certificate expires on 20"));
  federation.check_undisturbed();
}

TEST_CASE("a list to deny needs certificates and must be there; a page that others reach needs a token") {
  const Guarded scene;
  const auto refused = [&](const Words& more, const std::string& words) {
    const Outcome outcome = run_program(scene.federation.serve_words(more));
    CHECK(outcome.code != 0);
    CHECK(line_count(outcome.err) == 1);
    CHECK_MESSAGE(outcome.err.find(words) != std::string::npos, outcome.err);
  };
  refused({"--deny", scene.denied}, "cannot read '" + scene.denied + "'");
  refused({"--status", "0.0.0.0:0"}, "status is '0.0.0.0:0'; on an address that other machines reach the page needs a token");
  refused({"--status-token", scene.federation / "token"}, "there is no page without --status");
  write_file(scene.federation / "token", "0123456789abcdef\n");
  refused({"--status", "0.0.0.0:0", "--status-token", scene.federation / "token"}, "it must be its owner's alone");
}

}  // namespace fedstride::test::network_deny_test
