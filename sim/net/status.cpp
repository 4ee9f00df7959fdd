#include "sim/net/status.hpp"

// Must match how the library was compiled: the layout of its classes depends on it.
#define CPPHTTPLIB_OPENSSL_SUPPORT
#include <httplib.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "core/descriptor.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/secret_key.hpp"
#include "core/text.hpp"
#include "sim/net/places.hpp"

namespace fedstride {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxConnections = 32;  // one thread each; further connections wait in the socket's backlog
constexpr int kMaxBacklog = 256;
constexpr std::size_t kMaxResponses = 4;                 // at the same time, since each may be large
constexpr auto kGrace = std::chrono::milliseconds(100);  // minimum age before a connection is evicted for another
constexpr std::size_t kMaxRequestBytes = 1 << 14;
constexpr auto kMaxReceiveTime = std::chrono::seconds(5);    // for a whole request
constexpr auto kMaxResponseTime = std::chrono::seconds(10);  // for request and response together

// The stream of one request and its response. The library's own stream limits each read, but not a request's size or duration.
class BoundedStream : public httplib::Stream {
 public:
  explicit BoundedStream(socket_t socket) : socket_(socket), start_(Clock::now()) {}

  bool is_readable() const override { return ready(POLLIN, start_ + kMaxReceiveTime); }
  bool is_writable() const override { return ready(POLLOUT, start_ + kMaxResponseTime); }

  ssize_t read(char* data, size_t size) override {
    // Buffered, since the library reads lines byte by byte.
    if (next_ == end_) {
      const std::size_t most = std::min(sizeof buffer_, left_);
      if (most == 0 || !is_readable()) return -1;
      const ssize_t count = ::recv(socket_, buffer_, most, 0);
      if (count <= 0) return count;
      next_ = buffer_;
      end_ = buffer_ + count;
      left_ -= static_cast<std::size_t>(count);
    }
    const auto taken = std::min(size, static_cast<std::size_t>(end_ - next_));
    std::memcpy(data, next_, taken);
    next_ += taken;
    return static_cast<ssize_t>(taken);
  }

  ssize_t write(const char* data, size_t size) override {
    return is_writable() ? ::send(socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;
  }

  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  bool ready(short event, Clock::time_point until) const {
    return uninterrupted([&] {
             const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
             pollfd waiting{socket_, event, 0};
             return left > 0 ? ::poll(&waiting, 1, static_cast<int>(left)) : 0;
           }) > 0;
  }

  socket_t socket_;
  Clock::time_point start_;
  std::size_t left_ = kMaxRequestBytes;
  char buffer_[4096];
  const char* next_ = buffer_;
  const char* end_ = buffer_;
};

class BoundedQueue : public httplib::TaskQueue {
 public:
  explicit BoundedQueue(ConnectionSlots& connections) : connections_(connections) {}
  // In newer versions of the library, enqueue() returns whether it accepted the task.
  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));
  Enqueued enqueue(std::function<void()> task) override {
    connections_.reserve();
    return threads_.enqueue(std::move(task));
  }
  void shutdown() override { threads_.shutdown(); }

 private:
  ConnectionSlots& connections_;
  httplib::ThreadPool threads_{kMaxConnections};
};

}  // namespace

/// Handles one request for each connection; no connection outlives the server.
class HttpServer : public httplib::Server {
 public:
  HttpServer() {
    new_task_queue = [this] { return new BoundedQueue(connections_); };
  }
  /// Allows a larger backlog than the library's five, since a client that finds it full retries only after a second.
  void enlarge_backlog() { ::listen(svr_sock_, kMaxBacklog); }
  void end_connections() {
    responses_.end();
    connections_.end();
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    bool answered = false;
    if (connections_.take(socket)) {
      BoundedStream stream(socket);
      bool closed = false;
      const auto prepare = [this, socket](httplib::Request& request) {
        // Disables ranges (a range requested a thousand times would be sent a thousand times) and compression.
        request.ranges.clear();
        request.headers.erase("Accept-Encoding");
        if (responses_.reserve()) responses_.take(socket);
      };
      // Version 0.18 requires both ends' addresses, which are unused here.
      const auto respond = [&](auto& to) {
        if constexpr (requires { this->process_request(to, true, closed, prepare); })
          return this->process_request(to, true, closed, prepare);
        else
          return this->process_request(to, std::string(), 0, std::string(), 0, true, closed, prepare);
      };
      answered = respond(stream);
      ::shutdown(socket, SHUT_RDWR);
    }
    responses_.release(socket);
    connections_.release(socket);
    ::close(socket);
    return answered;
  }

  ConnectionSlots connections_{kMaxConnections, kGrace};
  ConnectionSlots responses_{kMaxResponses, kGrace};
};

namespace {

/// Returns the host in a Host header, in lower case, without port or brackets.
std::string host_of(std::string header) {
  header = lower_case(header);
  if (header.starts_with('[')) return header.substr(1, header.find(']') - 1);
  return header.substr(0, header.find(':'));
}

void answer(httplib::Response& response, int status, const std::string& text, std::string_view type = "text/plain") {
  response.status = status;
  response.set_content(text, std::string(type) + "; charset=utf-8");
}

/// Returns the token presented by a request; empty if there is none.
std::string token_of(const httplib::Request& request) {
  constexpr std::string_view kBearer = "Bearer ";
  constexpr std::string_view kBasic = "Basic ";
  if (request.get_header_value_count("Authorization") != 1) return {};
  const std::string value = request.get_header_value("Authorization");
  if (value.starts_with(kBearer)) return value.substr(kBearer.size());
  if (!value.starts_with(kBasic)) return {};
  // Base64 of "USER:TOKEN", with any user name.
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : std::string_view(value).substr(kBasic.size())) {
    const auto digit = kAlphabet.find(c);
    if (digit == kAlphabet.npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    text += static_cast<char>(bits >> held & 0xff);
  }
  const auto colon = text.find(':');
  return colon == text.npos ? std::string() : text.substr(colon + 1);
}

Error cannot_listen(const Endpoint& address, int error) {
  const std::string why =
      "cannot listen on the status address '" + address.text() +
      "': " + (error == EADDRINUSE || error == EACCES ? std::strerror(error) : "it is not an address of this machine") +
      "; --status needs an address of this machine with a free port, or port 0 for any free port";
  return error == EADDRINUSE ? busy(why) : failure(why);
}

}  // namespace

struct StatusServer::Server {
  Server(const Endpoint& where, std::vector<StatusPath> what, const std::string& token, std::function<Health()> well)
      : address(where),
        paths(std::move(what)),
        health(std::move(well)),
        needs_token(!token.empty()),
        token_digest(Hash().text(token).digest()) {
    http.set_default_headers(
        {{"Content-Security-Policy",
          "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
         {"X-Content-Type-Options", "nosniff"},
         {"Referrer-Policy", "no-referrer"},
         {"Cross-Origin-Resource-Policy", "same-origin"},
         {"Cache-Control", "no-store"}});
    // Replaces the library's SO_REUSEPORT, which would let a second coordinator share the port.
    http.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    http.set_payload_max_length(0);
    http.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      handle(request, response);
      return httplib::Server::HandlerResponse::Handled;
    });
    http.set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
      answer(response, 500, "the status is not available\n");
    });
    http.new_task_queue = [this, make = http.new_task_queue] {
      listening.set_value();
      return make();
    };
    errno = 0;
    if (address.port == 0)
      port = http.bind_to_any_port(address.host);
    else if (http.bind_to_port(address.host, address.port))
      port = address.port;
    if (port <= 0) throw cannot_listen(address, errno);
    http.enlarge_backlog();
    thread = std::thread([this] { http.listen_after_bind(); });
    listening.get_future().wait();
  }

  ~Server() {
    http.stop();
    http.end_connections();
    thread.join();
  }

  void handle(const httplib::Request& request, httplib::Response& response) {
    if (is_loopback(address) && !host_is_loopback(request))
      return answer(response, 403, "the Host header must name a loopback address or localhost\n");
    const bool reads = request.method == "GET" || request.method == "HEAD";
    const bool asks_alive = request.path == "/healthz";
    if (reads && (asks_alive || request.path == "/readyz")) {
      const Health now = health ? health() : Health{};
      const std::string& why = asks_alive ? now.alive : now.ready;
      return answer(response, why.empty() ? 200 : 503, (why.empty() ? "ok" : why) + "\n");
    }
    if (needs_token && !has_token(request)) {
      response.set_header("WWW-Authenticate", "Bearer");
      response.headers.emplace("WWW-Authenticate", "Basic realm=\"fedstride: any user name, the token as password\"");
      return answer(response, 401, "this page requires its token (--status-token)\n");
    }
    const auto path = std::ranges::find(paths, std::string_view(request.path), &StatusPath::path);
    if (path == paths.end()) {
      std::string valid;
      for (const StatusPath& one : paths) valid.append(one.path).append(", ");
      return answer(response, 404, "not found; valid paths are " + valid + "/healthz and /readyz\n");
    }
    if (!reads) {
      response.set_header("Allow", "GET, HEAD");
      return answer(response, 405, "only GET and HEAD are supported\n");
    }
    const std::scoped_lock lock(mutex);
    answer(response, 200, path->text(), path->type);
  }

  bool host_is_loopback(const httplib::Request& request) const {
    if (request.get_header_value_count("Host") != 1) return false;
    return is_loopback({host_of(request.get_header_value("Host")), 0});
  }

  /// Compares digests in constant time, so that timing reveals nothing about the token.
  bool has_token(const httplib::Request& request) const {
    const auto shown = Hash().text(token_of(request)).digest();
    return CRYPTO_memcmp(shown.data(), token_digest.data(), token_digest.size()) == 0;
  }

  Endpoint address;
  std::vector<StatusPath> paths;
  std::function<Health()> health;
  bool needs_token;
  std::array<std::uint8_t, 32> token_digest;
  std::mutex mutex;
  HttpServer http;
  int port = 0;
  std::promise<void> listening;
  std::thread thread;
};

StatusServer::StatusServer(const Endpoint& address, std::vector<StatusPath> paths, const std::string& token,
                           std::function<Health()> health) {
  // The library makes the whole process ignore SIGPIPE, which is not needed here, so the previous action is restored.
  struct sigaction before {};
  ::sigaction(SIGPIPE, nullptr, &before);
  struct Restore {
    ~Restore() { ::sigaction(SIGPIPE, &action, nullptr); }
    const struct sigaction& action;
  } const restore{before};
  server_ = std::make_unique<Server>(address, std::move(paths), token, std::move(health));
}

StatusServer::~StatusServer() = default;

std::vector<StatusPath> federation_paths(const std::function<FederationStatus()>& status) {
  return {{"/", "text/html", [status] { return status_page(status()); }},
          {"/status", "application/json", [status] { return status_json(status()); }},
          {"/metrics", kMetricsType, [status] { return status_metrics(status()); }}};
}

std::uint64_t free_bytes(const std::filesystem::path& file) {
  std::error_code error;
  const auto space = std::filesystem::space(file.has_parent_path() ? file.parent_path() : ".", error);
  return error ? 0 : space.available;
}

Health health_of(Clock::time_point ran, Clock::duration longest, std::time_t certificate_expires,
                 const std::filesystem::path& state, const std::string& other) {
  constexpr std::uint64_t kLines = 1 << 20;  // bytes left for the other files of a round
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(state, error);
  const Health health{.alive = Clock::now() - ran > longest ? "network-thread-silent" : "", .ready = other};
  if (!health.alive.empty()) return {health.alive, health.alive};
  if (!other.empty()) return health;
  if (certificate_expires != 0 && certificate_expires <= std::time(nullptr)) return {"", "certificate-expired"};
  return {"", free_bytes(state) < (error ? 0 : size) + kLines ? "disk-full" : ""};
}

void require_status_token(const Endpoint& address, const std::string& token) {
  if (is_loopback(address) || !token.empty()) return;
  throw usage_error("status is '" + address.text() +
                    "'; on an address that other machines can reach, the page needs a token (--status-token FILE)");
}

std::string new_status_token() { return hex_of(new_secret_key()); }

std::string load_or_create_status_token(const std::filesystem::path& path) {
  const std::string name = "status-token '" + path.string() + "' ";
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 && errno == ENOENT) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    const NewFile file{path.filename().string(), new_status_token() + "\n", 0600};
    write_files(folder, std::span(&file, 1));
  }
  if (::stat(path.c_str(), &status) != 0) throw failure(name + "cannot be read: " + std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw failure(name + "is not a file");
  if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    throw failure(name + "is accessible to other users; run chmod 600 " + path.string());
  const std::string text = read_text_file(path, 4096);
  const std::string token(trimmed(text));
  const bool good =
      token.size() >= 16 && token.size() <= 256 && std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
  if (!good) throw failure(name + "does not contain a token of 16 to 256 printable characters without spaces");
  return token;
}

std::uint16_t StatusServer::port() const { return static_cast<std::uint16_t>(server_->port); }

}  // namespace fedstride
