#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

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
  HttpServer() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(socket_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(socket_, 8);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (int peer; (peer = ::accept(socket_, nullptr, nullptr)) >= 0; ::close(peer)) answer(peer);
    });
  }
  ~HttpServer() {
    ::shutdown(socket_, SHUT_RDWR);  // wakes accept
    thread_.join();
    ::close(socket_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }

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
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::send(peer, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
      if (count <= 0) return;
      done += static_cast<std::size_t>(count);
    }
  }

  int socket_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, Served> served_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace fedstride::test
