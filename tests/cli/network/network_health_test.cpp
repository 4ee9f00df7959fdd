// What a service manager and a prober see of a coordinator and its clients.
#include "tests/cli/network/federation.hpp"
#include "tests/support/service_manager.hpp"

namespace fedstride::test::network_health_test {
namespace {

/// The answer's first line and body; empty if nobody answers.
std::string get(std::uint16_t port, const std::string& path) {
  const Socket socket = calling(port);
  if (!socket || !send_all(socket.get(), "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")) return {};
  const std::string all = receive(socket.get(), 1 << 20);
  const auto body = all.find("\r\n\r\n");
  return body == all.npos ? std::string() : all.substr(0, all.find('\r')) + "\n" + all.substr(body + 4);
}

std::string address(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

/// Waits until the path answers so, with any code.
bool tells(std::uint16_t port, const std::string& path, const std::string& text) {
  const bool told = eventually([&] { return get(port, path).ends_with("\n" + text + "\n"); });
  if (!told) MESSAGE(path << " says: " << get(port, path));
  return told;
}

}  // namespace

TEST_CASE("/healthz and /readyz need no token and say in a word what is wrong; a client has them, too") {
  const Federation federation{{"--optimizer", "sgd", "--rounds", "2"}};
  const std::uint16_t page = quiet_port(), own = quiet_port();
  const std::string token = federation / "token";
  {
    const Party early = federation.join_with(0, {"--status", address(own), "--status-token", token});
    CHECK(tells(own, "/healthz", "ok"));
    CHECK(get(own, "/readyz") == "HTTP/1.1 503 Service Unavailable\nnot-joined\n");
    CHECK(get(own, "/metrics").starts_with("HTTP/1.1 401 "));
    early.signal(SIGTERM);
    CHECK(early.wait() == 130);
  }
  const Party coordinator = federation.serve({"--status", address(page), "--status-token", token});
  CHECK(get(page, "/healthz") == "HTTP/1.1 200 OK\nok\n");
  CHECK(get(page, "/readyz") == "HTTP/1.1 200 OK\nok\n");
  CHECK(get(page, "/status").starts_with("HTTP/1.1 401 "));

  const Party client = federation.join_with(0, {"--status", address(own)});
  CHECK(tells(own, "/readyz", "ok"));
  const std::string metrics = get(own, "/metrics");
  CHECK(metrics.find("\nfedstride_joined 1\n") != metrics.npos);
  CHECK(metrics.find("\nfedstride_disk_free_bytes ") != metrics.npos);
  CHECK(get(own, "/x").find("/metrics, /healthz and /readyz") != std::string::npos);

  coordinator.signal(SIGUSR2);
  CHECK(tells(page, "/readyz", "draining"));
  CHECK(get(page, "/healthz") == "HTTP/1.1 200 OK\nok\n");
  const Party others[] = {federation.join(1), federation.join(2)};
  CHECK(coordinator.wait() == 0);
  CHECK(tells(own, "/readyz", "not-joined"));
}

TEST_CASE("a service manager hears that coordinator and client are ready, alive and stopping") {
  const Federation federation{{"--optimizer", "sgd", "--rounds", "2"}};
  const auto heard = [](const ServiceManager& manager, const std::string& state) {
    return eventually([&] { return manager.next() == state; });
  };
  const auto watch = [&](const std::string& name, const auto& start, const auto& stop) {
    const ServiceManager manager(federation / name);
    REQUIRE(manager.is_there());
    const Party party = start();
    CHECK(heard(manager, "READY=1"));
    CHECK(heard(manager, "WATCHDOG=1"));
    CHECK(heard(manager, "WATCHDOG=1"));
    stop(party);
    CHECK(heard(manager, "STOPPING=1"));
    party.wait();
  };
  const auto terminate = [](const Party& party) { party.signal(SIGTERM); };
  watch(
      "client", [&] { return federation.join(0); }, terminate);
  watch(
      "coordinator", [&] { return federation.serve(); }, terminate);
}

}  // namespace fedstride::test::network_health_test
