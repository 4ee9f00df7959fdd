#pragma once

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/sockets.hpp"

namespace fedstride::test {

/// The server's answer for one path.
struct Served {
  std::string body;
  bool ranges = true;             ///< answers "Range: bytes=N-" with 206 (416 past the end); else always 200 and everything
  std::size_t cut_after = ~0ULL;  ///< bytes of the body after which the connection is dropped
};

/// An HTTP server on a free port of this machine, one connection at a time, that can also misbehave. Add what it serves
/// before it is asked for.
class HttpServer {
 public:
  HttpServer() {
    thread_ = std::thread([this] {
      while (const Socket peer{::accept(socket_.get(), nullptr, nullptr)}) answer(peer.get());
    });
  }
  ~HttpServer() {
    ::shutdown(socket_.get(), SHUT_RDWR);  // wakes accept
    thread_.join();
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_of(socket_.get())) + path; }

  void serve(const std::string& path, Served what) {
    const std::lock_guard lock(mutex_);
    served_[path] = std::move(what);
  }
  /// "PATH" or "PATH from N" of every request so far.
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void answer(int peer) {
    std::string request;
    char buffer[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t count = ::recv(peer, buffer, sizeof buffer, 0);
      if (count <= 0) return;
      request.append(buffer, static_cast<std::size_t>(count));
    }
    const std::lock_guard lock(mutex_);
    const std::string path = request.substr(4, request.find(' ', 4) - 4);  // after "GET "
    const auto range = request.find("Range: bytes=");
    const std::size_t from = range == std::string::npos ? 0 : std::strtoull(request.c_str() + range + 13, nullptr, 10);
    requests_.push_back(from == 0 ? path : path + " from " + std::to_string(from));
    const auto found = served_.find(path);
    if (found == served_.end()) return send(peer, "404 Not Found", "", "gone", ~0ULL);
    const Served& what = found->second;
    const std::size_t size = what.body.size();
    if (from == 0 || !what.ranges) return send(peer, "200 OK", "", what.body, what.cut_after);
    if (from >= size) return send(peer, "416 Range Not Satisfiable", "", "", ~0ULL);
    send(peer, "206 Partial Content",
         "Content-Range: bytes " + std::to_string(from) + "-" + std::to_string(size - 1) + "/" + std::to_string(size) + "\r\n",
         what.body.substr(from), what.cut_after);
  }

  static void send(int peer, const std::string& status, const std::string& header, const std::string& body,
                   std::size_t cut_after) {
    const std::string bytes = "HTTP/1.1 " + status + "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
                              "\r\n" + header + "\r\n" + body.substr(0, cut_after);
    send_all(peer, bytes);
  }

  Socket socket_ = listening(0);
  mutable std::mutex mutex_;
  std::map<std::string, Served> served_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace fedstride::test
