#include "net/x509.hpp"

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

/// The message of a party that ends with exit code 1.
std::string last_words(const Party& party) {
  CHECK(party.wait() == 1);
  return party.err();
}

}  // namespace

TEST_CASE("clients without a certificate of this authority, valid today and their own, do not get past hello") {
  const Guarded scene;
  const Party coordinator = scene.federation.serve();
  const auto refused = [&](const TlsPeer::Rules& rules, ClientId says, const std::string& reason) {
    CAPTURE(reason);
    const TlsPeer peer(calling(scene.federation.port()), rules);
    peer.say(Hello{says, build_identity()});
    const std::string answer = peer.rest();
    CHECK(answer.find("dataset") == answer.npos);  // no word about the experiment
    CHECK(coordinator.says(reason));
    return answer;
  };
  refused({.files = client_files(scene.another_authority(), 0)}, 0, "its certificate is not valid here: ");
  refused({.files = client_files(scene.expired(), 0)}, 0, "its certificate is not valid here: ");
  refused({}, 0, "peer did not return a certificate");
  refused({.files = client_files(scene.folder(), 0), .version = TLS1_2_VERSION}, 0, "unsupported protocol");
  refused({.files = coordinator_files(scene.folder())}, 0, "unsuitable certificate purpose");
  const std::string told =
      refused({.files = client_files(scene.folder(), 1)}, 0, "its certificate is that of 'client-1', not of 'client-0'");
  CHECK(told.find("its certificate is that of 'client-1', not of 'client-0'") != told.npos);
  CHECK(!coordinator.has_said("joined"));
  scene.finish(coordinator);
}

TEST_CASE("a client whose certificate of the right authority has expired meanwhile is refused") {
  Guarded scene;
  // Issued by hand: make_certificates gives nothing that has expired.
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
  CHECK(coordinator.says("its certificate is not valid here: certificate has expired"));
  scene.finish(coordinator);
}

TEST_CASE("a client does not speak to a coordinator of another authority, or with a client's certificate") {
  const Guarded scene;
  const std::pair<TlsFiles, std::string> false_ones[] = {
      {coordinator_files(scene.another_authority()), "its certificate is not valid here: "},
      {coordinator_files(scene.expired()), "its certificate is not valid here: "},
      {client_files(scene.folder(), 1), "its certificate is not valid here: unsuitable certificate purpose"}};
  for (const auto& one : false_ones) {
    CAPTURE(one.second);
    const Socket listener = listening(0);
    const Party client = scene.federation.join(0, port_of(listener.fd()));
    Socket called(accept(listener.fd(), nullptr, nullptr));
    const TlsPeer coordinator(std::move(called), {.side = TlsPeer::Side::server, .files = one.first});
    CHECK(coordinator.rest() == "");
    CHECK(client.says(one.second));
  }
}

TEST_CASE("parties whose own files are expired, mixed up or another's say so in one line and do not begin") {
  const Guarded scene;
  const auto last = [&](Words words, const fs::path& folder) {
    *(std::ranges::find(words, "--certificates") + 1) = folder.string();
    const std::string said = last_words(Party(words));
    CHECK(line_count(said) == 1);
    return said;
  };
  const Words join = scene.federation.join_words(0), serve = scene.federation.serve_words();
  CHECK(last(join, scene.expired()).find("expired on") != std::string::npos);
  CHECK(last(serve, scene.expired()).find("expired on") != std::string::npos);
  const fs::path mixed = scene.federation / "mixed";
  fs::copy(scene.another_authority(), mixed);
  fs::copy_file(scene.folder() / "authority.pem", mixed / "authority.pem", fs::copy_options::overwrite_existing);
  CHECK(last(join, mixed).find("client-0.pem") != std::string::npos);
  CHECK(last(serve, mixed).find("coordinator.pem") != std::string::npos);
  const fs::path borrowed = scene.federation / "borrowed";
  fs::copy(scene.folder(), borrowed);
  for (const char* end : {".pem", ".key"})
    for (const char* name : {"client-0", "coordinator"})
      fs::copy_file(borrowed / (std::string("client-1") + end), borrowed / (std::string(name) + end),
                    fs::copy_options::overwrite_existing);
  CHECK(last(join, borrowed).find("client-1") != std::string::npos);
  CHECK(last(serve, borrowed).find("coordinator") != std::string::npos);
}

}  // namespace fedstride::test::network_certificates_test
