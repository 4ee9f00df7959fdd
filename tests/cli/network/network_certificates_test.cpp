#include "sim/net/x509.hpp"

#include <fstream>

#include "tests/cli/network/federation.hpp"
#include "tests/support/tls_peer.hpp"

namespace fedstride::test::network_certificates_test {

namespace fs = std::filesystem;

namespace {

struct Guarded {
  Federation federation{{"--optimizer", "sgd", "--rounds", "3"}};
  Guarded() { federation.use_certificates(); }
  fs::path folder() const { return federation.certificates(); }
  fs::path another_authority() const {
    const fs::path other = federation / "another";
    make_certificates(other, {.clients = 3});
    return other;
  }
  fs::path expired() const {
    const fs::path old = federation / "expired";
    const auto then = std::chrono::system_clock::now() - std::chrono::hours(24 * 20);
    make_certificates(old, {.clients = 3, .days = 10, .now = then});
    return old;
  }
  void finish(const Party& coordinator) const {
    const auto clients = federation.join_all();
    CHECK(coordinator.wait() == 0);
    for (const Party& client : clients) CHECK(client.wait() == 0);
    federation.check_undisturbed();
  }
};

}  // namespace

TEST_CASE("clients without a valid certificate of their own from this authority do not get past hello") {
  const Guarded scene;
  const Party coordinator = scene.federation.serve();
  const auto refused = [&](const TlsPeer::Rules& rules, ClientId says, const std::string& reason) {
    CAPTURE(reason);
    const TlsPeer peer(calling(scene.federation.port()), rules);
    peer.say(Hello{says, build_identity()});
    const std::string answer = peer.rest();
    CHECK(answer.find("dataset") == answer.npos);  // nothing about the experiment
    CHECK(coordinator.says(reason));
    return answer;
  };
  refused({.files = client_files(scene.another_authority(), 0)}, 0, "certificate");
  refused({.files = client_files(scene.expired(), 0)}, 0, "certificate");
  refused({}, 0, "peer did not return a certificate");
  refused({.files = client_files(scene.folder(), 0), .version = TLS1_2_VERSION}, 0, "unsupported protocol");
  refused({.files = coordinator_files(scene.folder())}, 0, "unsuitable certificate purpose");
  const std::string told = refused({.files = client_files(scene.folder(), 1)}, 0, "'client-1'");
  for (const char* name : {"'client-1'", "'client-0'"}) CHECK(told.find(name) != told.npos);
  CHECK(!coordinator.has_said("joined"));
  scene.finish(coordinator);
}

TEST_CASE("a client whose certificate from the right authority has expired is refused") {
  Guarded scene;
  // Issued directly: make_certificates cannot make expired ones.
  const Identity authority{read_certificate(scene.folder() / "authority.pem"), read_key(scene.folder() / "authority.key")};
  const KeyHandle key = new_key();
  const std::time_t now = std::time(nullptr);
  const auto late = issue({"client-0", Role::client, now - 5000, now - 60}, key.get(), &authority);
  const TlsFiles files{{}, scene.federation / "late.pem", scene.federation / "late.key"};
  std::ofstream(files.certificate) << to_pem(late.get());
  std::ofstream(files.key) << to_pem(key.get());
  const Party coordinator = scene.federation.serve();
  const TlsPeer peer(calling(scene.federation.port()), {.files = files});
  peer.say(Hello{0, build_identity()});
  CHECK(peer.rest() == "");
  CHECK(coordinator.says("certificate has expired"));
  scene.finish(coordinator);
}

TEST_CASE("a certificate that expires while its client is connected holds until it calls again; renewed, it joins again") {
  const Guarded scene;
  const Identity authority{read_certificate(scene.folder() / "authority.pem"), read_key(scene.folder() / "authority.key")};
  const TlsFiles files = client_files(scene.folder(), 0);
  const std::time_t expires = std::time(nullptr) + 6;
  const auto brief = issue({"client-0", Role::client, expires - 5000, expires}, read_key(files.key).get(), &authority);
  std::ofstream(files.certificate) << to_pem(brief.get());

  Party coordinator = scene.federation.serve({"--rounds", "300"});
  std::vector<Party> clients;
  for (int client = 0; client < 2; ++client) {
    clients.push_back(scene.federation.join(client));
    CHECK(coordinator.says("client " + std::to_string(client), "joined"));
  }
  REQUIRE(std::time(nullptr) < expires);
  while (std::time(nullptr) <= expires) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  clients.push_back(scene.federation.join(2));  // the first round waits for it
  CHECK(scene.federation.reaches(1));
  coordinator.kill();
  const std::size_t rounds = rounds_of(scene.federation.out()).size();
  REQUIRE(rounds < 300);

  coordinator = scene.federation.serve({"--rounds", "300"});
  CHECK(coordinator.says("certificate has expired"));
  CHECK(clients[0].says("certificate", "expired"));
  CHECK(rounds_of(scene.federation.out()).size() <= rounds);  // not without it
  clients[0].signal(SIGTERM);
  clients[0].wait();
  REQUIRE(run_program({"certificates", "--clients", "3", "--out", scene.folder().string()}).code == 0);
  clients[0] = scene.federation.join(0);
  CHECK(coordinator.wait() == 0);
  for (const Party& client : clients) CHECK(client.wait() == 0);
  CHECK(rounds_of(scene.federation.out()).size() == 300);
}

TEST_CASE("a client does not talk to a coordinator from another authority or with a client certificate") {
  const Guarded scene;
  const std::pair<TlsFiles, std::string> false_ones[] = {{coordinator_files(scene.another_authority()), "certificate"},
                                                         {coordinator_files(scene.expired()), "certificate"},
                                                         {client_files(scene.folder(), 1), "unsuitable certificate purpose"}};
  for (const auto& one : false_ones) {
    CAPTURE(one.second);
    const Socket listener = listening(0);
    const Party client = scene.federation.join(0, port_of(listener.get()));
    Socket called(accept(listener.get(), nullptr, nullptr));
    const TlsPeer coordinator(std::move(called), {.side = TlsPeer::Side::server, .files = one.first});
    CHECK(coordinator.rest() == "");
    CHECK(client.says(one.second));
  }
}

TEST_CASE("parties whose files are expired, mixed up or another's report it in one line and do not start") {
  const Guarded scene;
  const auto refused = [&](Words words, const fs::path& folder, std::initializer_list<std::string_view> parts) {
    *(std::ranges::find(words, "--certificates") + 1) = folder.string();
    const Party party(words);
    CHECK(party.wait() == (std::ranges::find(parts, "expired") != parts.end() ? 3 : 1));
    CHECK_MESSAGE(names(party.err(), parts), party.err());
  };
  const Words join = scene.federation.join_words(0), serve = scene.federation.serve_words();
  refused(join, scene.expired(), {"expired", "UTC"});
  refused(serve, scene.expired(), {"expired", "UTC"});
  const fs::path mixed = scene.federation / "mixed";
  fs::copy(scene.another_authority(), mixed);
  fs::copy_file(scene.folder() / "authority.pem", mixed / "authority.pem", fs::copy_options::overwrite_existing);
  refused(join, mixed, {"client-0.pem"});
  refused(serve, mixed, {"coordinator.pem"});
  const fs::path borrowed = scene.federation / "borrowed";
  fs::copy(scene.folder(), borrowed);
  for (const char* end : {".pem", ".key"})
    for (const char* name : {"client-0", "coordinator"})
      fs::copy_file(borrowed / (std::string("client-1") + end), borrowed / (std::string(name) + end),
                    fs::copy_options::overwrite_existing);
  refused(join, borrowed, {"'client-1'", "'client-0'"});
  refused(serve, borrowed, {"coordinator"});
}

}  // namespace fedstride::test::network_certificates_test
