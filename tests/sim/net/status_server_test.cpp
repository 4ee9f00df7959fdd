#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <list>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/descriptor.hpp"
#include "core/files.hpp"
#include "sim/net/status.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::status_server_test {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

FederationStatus small_status() {
  FederationStatus status;
  status.title = "one";
  status.state = "round 1";
  status.rounds = 10;
  return status;
}

class Socket {
 public:
  /// `takes`: size of the receive buffer in bytes; 0: the kernel's default.
  explicit Socket(std::uint16_t port, int takes = 0) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{60, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (takes > 0) ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &takes, sizeof takes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect");
  }

  void send(const std::string& text) const { ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL); }

  std::string until_the_end() const {
    std::string all;
    char buffer[4096];
    for (ssize_t got; (got = ::recv(fd_.get(), buffer, sizeof buffer, 0)) > 0;) all.append(buffer, static_cast<std::size_t>(got));
    return all;
  }

 private:
  Descriptor fd_;
};

std::string answer_to(std::uint16_t port, const std::string& request) {
  const Socket socket(port);
  socket.send(request);
  return socket.until_the_end();
}

std::string request(const std::string& method, const std::string& path, const std::string& more = "Host: 127.0.0.1\r\n") {
  return method + " " + path + " HTTP/1.1\r\n" + more + "\r\n";
}

std::string get(const StatusServer& server, const std::string& path) { return answer_to(server.port(), request("GET", path)); }

std::string body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

TEST_CASE("page, JSON and metrics are served, each with its content type and a strict security policy") {
  const StatusServer server({kLoopback, 0}, small_status);
  const std::string page = get(server, "/"), json = get(server, "/status"), metrics = get(server, "/metrics");
  CHECK(body(page) == status_page(small_status()));
  CHECK(body(json) == status_json(small_status()));
  CHECK(body(metrics) == status_metrics(small_status()));
  CHECK(page.find("\r\nContent-Type: text/html; charset=utf-8\r\n") != page.npos);
  CHECK(json.find("\r\nContent-Type: application/json") != json.npos);
  CHECK(metrics.find("\r\nContent-Type: text/plain; version=0.0.4") != metrics.npos);
  for (const auto& answer : {page, json, metrics}) {
    CHECK(answer.starts_with("HTTP/1.1 200 "));
    CHECK(answer.find("\r\nContent-Security-Policy: default-src 'none';") != answer.npos);
    CHECK(answer.find("\r\nCache-Control: no-store\r\n") != answer.npos);
  }
}

TEST_CASE("HEAD gets no body, another path 404, another method 405") {
  const StatusServer server({kLoopback, 0}, small_status);
  const std::string head = answer_to(server.port(), request("HEAD", "/"));
  CHECK(head.starts_with("HTTP/1.1 200 "));
  CHECK(body(head).empty());
  CHECK(head.find("Content-Length: " + std::to_string(status_page(small_status()).size()) + "\r\n") != head.npos);
  for (const char* path : {"/x", "/status/", "/../etc/passwd", "/statuses", "//"})
    CHECK(get(server, path).starts_with("HTTP/1.1 404 "));
  for (const char* method : {"PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"}) {
    const std::string refused = answer_to(server.port(), request(method, "/status"));
    CHECK(refused.starts_with("HTTP/1.1 405 "));
    CHECK(refused.find("\r\nAllow: GET, HEAD\r\n") != refused.npos);
  }
  CHECK(answer_to(server.port(), request("POST", "/", "Host: localhost\r\nContent-Length: 3\r\n") + "a=b")
            .starts_with("HTTP/1.1 405 "));
  CHECK(get(server, "/status?x=1").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("on a loopback address a Host header that names another machine is refused") {
  const StatusServer server({kLoopback, 0}, small_status);
  for (const char* host : {"Host: localhost\r\n", "Host: LocalHost:81\r\n", "Host: 127.0.0.1:80\r\n", "Host: [::1]:80\r\n"})
    CHECK(answer_to(server.port(), request("GET", "/", host)).starts_with("HTTP/1.1 200 "));
  for (const char* host : {"", "Host: \r\n", "Host: evil.example\r\n", "Host: localhost.evil.example:80\r\n",
                           "Host: 127.0.0.1.evil.example\r\n", "Host: [\r\n", "Host: localhost\r\nHost: evil.example\r\n"}) {
    CAPTURE(host);
    const std::string refused = answer_to(server.port(), request("GET", "/status", host));
    CHECK(refused.starts_with("HTTP/1.1 403 "));
    CHECK(refused.find("round 1") == refused.npos);
  }
  const StatusServer open({"0.0.0.0", 0}, small_status);
  CHECK(answer_to(open.port(), request("GET", "/", "Host: coordinator.example\r\n")).starts_with("HTTP/1.1 200 "));
}

TEST_CASE("with a token, every path requires it, as a bearer token or by Basic authentication") {
  const std::string token = "0123456789abcdef-token";
  const StatusServer server({"0.0.0.0", 0}, small_status, token);
  const auto asked = [&](const std::string& path, const std::string& more) {
    return answer_to(server.port(), request("GET", path, "Host: x\r\n" + more));
  };
  for (const char* path : {"/", "/status", "/metrics"}) {
    CHECK(asked(path, "Authorization: Bearer " + token + "\r\n").starts_with("HTTP/1.1 200 "));
    // "me:0123456789abcdef-token" and ":0123456789abcdef-token"
    CHECK(asked(path, "Authorization: Basic bWU6MDEyMzQ1Njc4OWFiY2RlZi10b2tlbg==\r\n").starts_with("HTTP/1.1 200 "));
    CHECK(asked(path, "Authorization: Basic OjAxMjM0NTY3ODlhYmNkZWYtdG9rZW4=\r\n").starts_with("HTTP/1.1 200 "));
  }
  for (const std::string& header :
       {std::string(), std::string("Authorization: Bearer \r\n"), "Authorization: Bearer " + token + "x\r\n",
        "Authorization: Bearer " + token.substr(1) + "\r\n", "Authorization: bearer" + token + "\r\n",
        std::string("Authorization: Basic MDEyMzQ1Njc4OWFiY2RlZi10b2tlbg==\r\n"), std::string("Authorization: Basic ===\r\n"),
        "Authorization: Bearer " + token + "\r\nAuthorization: Bearer " + token + "\r\n"}) {
    CAPTURE(header);
    for (const char* path : {"/", "/status", "/metrics", "/x"}) {
      const std::string refused = asked(path, header);
      CHECK(refused.starts_with("HTTP/1.1 401 "));
      CHECK(refused.find("\r\nWWW-Authenticate: Basic ") != refused.npos);
      CHECK(refused.find("round 1") == refused.npos);
      CHECK(refused.find(token) == refused.npos);
    }
  }
}

TEST_CASE("/healthz and /readyz tell anyone, in a word, whether all is well") {
  Health health;
  const StatusServer server({kLoopback, 0}, small_status, "0123456789abcdef-token", [&] { return health; });
  const auto first_and_body = [&](const std::string& path) {
    const std::string all = get(server, path);
    return all.substr(0, all.find('\r')) + " " + body(all);
  };
  CHECK(first_and_body("/healthz") == "HTTP/1.1 200 OK ok\n");
  CHECK(first_and_body("/readyz") == "HTTP/1.1 200 OK ok\n");
  health = {.alive = "", .ready = "disk-full"};
  CHECK(first_and_body("/healthz") == "HTTP/1.1 200 OK ok\n");
  CHECK(first_and_body("/readyz") == "HTTP/1.1 503 Service Unavailable disk-full\n");
  health = {.alive = "network-thread-silent", .ready = "network-thread-silent"};
  CHECK(first_and_body("/healthz") == "HTTP/1.1 503 Service Unavailable network-thread-silent\n");
  CHECK(answer_to(server.port(), request("POST", "/healthz")).starts_with("HTTP/1.1 401 "));
  CHECK(answer_to(server.port(), request("GET", "/healthz", "Host: evil.example\r\n")).starts_with("HTTP/1.1 403 "));
}

TEST_CASE("a party is well unless its thread is silent, its certificate expired or its disk full") {
  using std::chrono::seconds;
  const TemporaryFolder folder;
  const std::string state = folder / "checkpoint";
  const auto now = std::chrono::steady_clock::now();
  const std::time_t today = std::time(nullptr);
  const auto health = [&](seconds silent, std::time_t expires, const std::string& other = "") {
    return health_of(now - silent, seconds(20), expires, state, other);
  };
  CHECK(health(seconds(0), 0).ready.empty());
  CHECK(health(seconds(0), today + 1000).ready.empty());
  CHECK(health(seconds(0), today - 1).ready == "certificate-expired");
  CHECK(health(seconds(0), today - 1).alive.empty());
  CHECK(health(seconds(0), today - 1, "draining").ready == "draining");
  CHECK(health(seconds(21), 0).alive == "network-thread-silent");
  CHECK(health(seconds(21), 0, "draining").ready == "network-thread-silent");
  CHECK(free_bytes(state) > 0);
  // A sparse file so large that the disk has no room for another.
  std::ofstream(state).put('x');
  std::filesystem::resize_file(state, std::uintmax_t{1} << 43);
  CHECK(health(seconds(0), 0).ready == "disk-full");
  CHECK(health(seconds(0), 0).alive.empty());
}

TEST_CASE("a missing token file is created for its owner only; one accessible to others or without a token is refused") {
  const TemporaryFolder folder;
  const std::string path = folder / "token";
  const std::string token = load_or_create_status_token(path);
  CHECK(token.size() == 64);
  CHECK(load_or_create_status_token(path) == token);
  CHECK(token != new_status_token());
  namespace fs = std::filesystem;
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  fs::permissions(path, fs::perms::others_read, fs::perm_options::add);
  CHECK_FAILURE(load_or_create_status_token(path), "status-token", "chmod 600 " + path);
  fs::permissions(path, fs::perms::others_read, fs::perm_options::remove);
  for (const char* text : {"", "short\n", "with a space in it, and long\n"}) {
    write_file(path, text);
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    CHECK_FAILURE(load_or_create_status_token(path), "status-token", path, "16", "256");
  }
  CHECK_FAILURE(load_or_create_status_token(folder.path()), "status-token", "'" + folder.path().string() + "'");
}

TEST_CASE("a port in use and an address of another machine are refused in one line") {
  const StatusServer server({kLoopback, 0}, small_status);
  const Endpoint taken{kLoopback, server.port()};
  CHECK_FAILURE(StatusServer(taken, small_status), "status", "'" + taken.text() + "'", "Address already in use");
  CHECK_FAILURE(StatusServer({"192.0.2.1", 7000}, small_status), "status", "'192.0.2.1:7000'");
  CHECK(get(server, "/").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("a destroyed server frees its port") {
  std::uint16_t port = 0;
  {
    const StatusServer server({kLoopback, 0}, small_status);
    port = server.port();
    get(server, "/");
  }
  const StatusServer again({kLoopback, port}, small_status);
  CHECK(get(again, "/").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("clients that send half a request delay neither others nor the shutdown") {
  auto server = std::make_unique<StatusServer>(Endpoint{kLoopback, 0}, small_status);
  const Socket silent(server->port()), half(server->port()), line(server->port());
  half.send("GET / HT");
  line.send("GET / HTTP/1.1\r\nHost: localhost\r\nX-");
  CHECK(get(*server, "/").starts_with("HTTP/1.1 200 "));

  std::list<Socket> crowd;
  for (int i = 0; i < 34; ++i) crowd.emplace_back(server->port()).send("GET / HT");
  const auto start = std::chrono::steady_clock::now();
  server.reset();
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(4));
  CHECK(half.until_the_end().empty());
}

double seconds_for(const std::function<void()>& what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_CASE("metrics are served within two seconds despite any number of half-sent requests, and the shutdown is immediate") {
  auto server = std::make_unique<StatusServer>(Endpoint{kLoopback, 0}, small_status);
  std::list<Socket> crowd;
  for (int i = 0; i < 100; ++i) crowd.emplace_back(server->port()).send(i % 2 == 0 ? "GET / HT" : "");
  for (int i = 0; i < 3; ++i)
    CHECK(seconds_for([&] { CHECK(body(get(*server, "/metrics")) == status_metrics(small_status())); }) < 2);
  CHECK(seconds_for([&] { server.reset(); }) < 2);
}

TEST_CASE("metrics are served quickly even if others do not read their responses") {
  FederationStatus large = small_status();
  large.clients.resize(1);
  large.clients.front().trouble.assign(std::size_t{8} << 20, 'x');  // more than socket buffers hold
  const StatusServer server({kLoopback, 0}, [&] { return large; });
  std::list<Socket> crowd;
  for (int i = 0; i < 6; ++i) crowd.emplace_back(server.port(), 4096).send(request("GET", "/status"));
  CHECK(seconds_for([&] { CHECK(get(server, "/metrics").starts_with("HTTP/1.1 200 ")); }) < 4);
}

TEST_CASE("an endless request is cut off, and the server works after a crowd has disconnected") {
  const StatusServer server({kLoopback, 0}, small_status);
  const std::string header = "X-A: " + std::string(1000, 'a') + "\r\n";
  std::string endless = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 100; ++i) endless += header;
  CHECK(answer_to(server.port(), endless).find(" 200 ") == std::string::npos);
  CHECK(answer_to(server.port(), "GET /" + std::string(100'000, 'a')).find(" 200 ") == std::string::npos);
  CHECK(answer_to(server.port(), std::string(64, '\0') + "\r\n\r\n").find(" 200 ") == std::string::npos);
  {
    std::list<Socket> crowd;
    for (int i = 0; i < 34; ++i) crowd.emplace_back(server.port()).send("GET / HT");
  }
  CHECK(get(server, "/").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("a response is sent whole and once, whatever ranges and encodings are requested") {
  const StatusServer server({kLoopback, 0}, small_status);
  std::string ranges = "Host: localhost\r\nAccept-Encoding: gzip, br\r\nRange: bytes=0-";
  for (int i = 0; i < 2000; ++i) ranges += ",0-";
  const std::string answer = answer_to(server.port(), request("GET", "/metrics", ranges + "\r\n"));
  CHECK(answer.starts_with("HTTP/1.1 200 "));
  CHECK(body(answer) == status_metrics(small_status()));
  CHECK(answer_to(server.port(), request("GET", "/", "Host: localhost\r\n") + request("GET", "/status")).find("\"rounds\"") ==
        std::string::npos);
}

TEST_CASE("a failing status function gives a 500 without the reason, and the next request is served") {
  std::atomic<bool> fails = true;
  const StatusServer server({kLoopback, 0}, [&]() -> FederationStatus {
    if (fails) throw std::runtime_error("secret");
    return small_status();
  });
  const std::string answer = get(server, "/status");
  CHECK(answer.starts_with("HTTP/1.1 500 "));
  CHECK(answer.find("secret") == answer.npos);
  fails = false;
  CHECK(get(server, "/status").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("the process's SIGPIPE action is unchanged") {
  struct sigaction before {
  }, after{};
  ::sigaction(SIGPIPE, nullptr, &before);
  const StatusServer server({kLoopback, 0}, small_status);
  ::sigaction(SIGPIPE, nullptr, &after);
  CHECK((before.sa_handler == after.sa_handler));
}

}  // namespace
}  // namespace fedstride::test::status_server_test
