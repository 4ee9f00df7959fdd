#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/net/member.hpp"
#include "sim/net/networked_fleet.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/tls_peer.hpp"

namespace fedstride::test::silent_connections_test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

FederationTerms terms_of(std::size_t clients) {
  FederationTerms terms{
      .welcome = {build_identity(), "", "x"}, .data_hash = "data", .roster = {}, .packings = {Packing(3), Packing(3)}};
  terms.roster.assign(clients, RosterEntry{5, "rows"});
  return terms;
}

/// A coordinator over TLS, and its log.
struct Coordinator {
  explicit Coordinator(std::size_t clients, std::size_t connections = 64) {
    make_certificates(certificates, {.clients = static_cast<int>(clients)});
    const ReceptionRules rules{
        .listen = {"127.0.0.1", 0},
        .transport = Transport::tls(Transport::Side::server, coordinator_files(certificates), kCoordinatorName),
        .heartbeat = milliseconds(500),
        .connections = connections};
    fleet.emplace(
        terms_of(clients), rules, RoundTerms{}, [](auto&&...) { return std::string(); },
        [this](const std::string& line) {
          const std::lock_guard lock(mutex);
          log += line + "\n";
        });
  }
  std::string said() {
    const std::lock_guard lock(mutex);
    return log;
  }

  const TemporaryFolder folder;
  const std::string certificates = folder / "certificates";
  std::mutex mutex;
  std::string log;
  std::optional<NetworkedFleet> fleet;
};

/// Seconds until a client that starts now has joined; 20 if it has not by then.
double seconds_to_join(Coordinator& coordinator, ClientId client) {
  const auto begun = Clock::now();
  std::atomic<bool> stop{false};
  const MemberRules rules{
      .client = client,
      .connect = {"127.0.0.1", coordinator.fleet->port()},
      .transport = Transport::tls(Transport::Side::client, client_files(coordinator.certificates, client), client_name(client))};
  const MemberWork work{.prepare =
                            [](const Welcome&, Packings& packings) {
                              packings = {Packing(3), Packing(3)};
                              return Ready{"data", "rows", 5, 0};
                            },
                        .last_round = [] { return std::uint32_t{0}; },
                        .train = [](const ModelMessage&, const Train&, std::atomic<std::uint64_t>&,
                                    const std::atomic<bool>&) { return UpdateMessage{}; }};
  std::thread member([&] {
    take_part(
        rules, work, [](const std::string&) {}, &stop);
  });
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begun).count(); };
  while (!coordinator.fleet->status().clients[client].connected && seconds() < 20) std::this_thread::sleep_for(milliseconds(2));
  const double taken = seconds();
  stop = true;
  member.join();
  return taken;
}

/// Connections from one loopback address that send nothing, or nothing but `word`, and are reopened as soon as they are
/// closed.
class Silent {
 public:
  Silent(std::uint16_t port, std::size_t count, const char* from, std::string word = {})
      : to_(loopback(port)), from_(loopback(0)), word_(std::move(word)), sockets_(count) {
    inet_pton(AF_INET, from, &from_.sin_addr);
    thread_ = std::thread([this] { keep_open(); });
    while (!all_called_) std::this_thread::sleep_for(milliseconds(1));
  }
  ~Silent() {
    stop_ = true;
    thread_.join();
  }
  std::uint64_t opened() const { return opened_; }

 private:
  void open(Socket& socket) {
    socket = Socket();
    Socket fresh(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    bind(fresh.get(), reinterpret_cast<const sockaddr*>(&from_), sizeof from_);
    connect(fresh.get(), reinterpret_cast<const sockaddr*>(&to_), sizeof to_);
    if (!word_.empty()) send(fresh.get(), word_.data(), word_.size(), MSG_NOSIGNAL);
    socket = std::move(fresh);
    ++opened_;
  }
  void keep_open() {
    for (Socket& socket : sockets_) open(socket);
    all_called_ = true;
    std::vector<pollfd> looks;
    while (!stop_) {
      looks.clear();
      for (const Socket& socket : sockets_) looks.push_back({socket.get(), POLLIN, 0});
      poll(looks.data(), looks.size(), 20);
      for (std::size_t i = 0; i < looks.size(); ++i)
        if ((looks[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) open(sockets_[i]);
    }
  }

  sockaddr_in to_;
  sockaddr_in from_;
  std::string word_;
  std::vector<Socket> sockets_;
  std::atomic<std::uint64_t> opened_{0};
  std::atomic<bool> all_called_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

void take_all_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

constexpr double kMost = 3;  // seconds

}  // namespace

TEST_CASE("1,000 silent connections, reopened immediately, keep no client out, whether from another address or from the same") {
  take_all_descriptors();
  Coordinator coordinator(2);
  for (const char* from : {"127.0.0.2", "127.0.0.1"}) {
    CAPTURE(from);
    const Silent silent(coordinator.fleet->port(), 1000, from);
    std::this_thread::sleep_for(milliseconds(300));
    const double seconds = seconds_to_join(coordinator, 0);
    MESSAGE("joined after ", seconds, " s among 1,000 silent ones from ", from, ", opened ", silent.opened(), " times");
    CHECK(seconds < kMost);
    CHECK(silent.opened() > 1000);
  }
  CHECK(coordinator.said().find(" connections") != std::string::npos);
}

TEST_CASE("connections that stop within their first bytes count as silent") {
  take_all_descriptors();
  Coordinator coordinator(1);
  const Silent silent(coordinator.fleet->port(), 1000, "127.0.0.1", std::string("\x16\x03\x01\x01\x00\x01", 6));
  std::this_thread::sleep_for(milliseconds(300));
  CHECK(seconds_to_join(coordinator, 0) < kMost);
}

TEST_CASE("connections that send only a ClientHello take at most half of the handshakes and keep no other address out") {
  take_all_descriptors();
  // A ClientHello from OpenSSL, captured from a socket.
  const Socket listener = listening(0);
  std::thread caller([&] { const TlsPeer peer(calling(port_of(listener.get())), {}); });
  std::string hello;
  {
    const Socket heard(accept(listener.get(), nullptr, nullptr));
    hello = receive(heard.get(), 5);
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(hello[at])); };
    hello += receive(heard.get(), byte(3) << 8 | byte(4));
  }
  caller.join();
  REQUIRE(hello.size() > 100);
  Coordinator coordinator(1);
  const Silent half(coordinator.fleet->port(), 400, "127.0.0.2", hello);
  std::this_thread::sleep_for(milliseconds(300));
  CHECK(seconds_to_join(coordinator, 0) < kMost);
}

TEST_CASE("a certificate may hold two connections: 38 idle ones of one client do not keep the others out") {
  Coordinator coordinator(2, 8);
  std::vector<std::unique_ptr<TlsPeer>> idle;
  for (int i = 0; i < 38; ++i)
    idle.push_back(std::make_unique<TlsPeer>(calling(coordinator.fleet->port()),
                                             TlsPeer::Rules{.files = client_files(coordinator.certificates, 0)}));
  CHECK(seconds_to_join(coordinator, 1) < kMost);
  CHECK(coordinator.said().find("'client-0'") != std::string::npos);
  CHECK(coordinator.said().find("8 connections") == std::string::npos);
}

}  // namespace fedstride::test::silent_connections_test
