#pragma once

#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "sim/net/messages.hpp"
#include "tests/support/sockets.hpp"

namespace fedstride::test {

/// Stands between a client and its coordinator, whose frames it shows to the test before they go on.
class FrameWatch {
 public:
  /// Called on a thread of each direction; false: the frame does not go on, and the connection ends.
  using Seen = std::function<bool(FrameKind kind, const std::string& body, bool to_client)>;

  FrameWatch(std::uint16_t to, Seen seen) : to_(to), seen_(std::move(seen)), listener_(listening(0)) {
    threads_.emplace_back([this] { accept_all(); });
  }
  ~FrameWatch() {
    stop_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    for (;;) {
      std::thread next;
      {
        const std::lock_guard lock(mutex_);
        for (const Socket& one : sockets_) ::shutdown(one.get(), SHUT_RDWR);
        if (threads_.empty()) return;
        next = std::move(threads_.front());
        threads_.pop_front();
      }
      next.join();
    }
  }
  FrameWatch(const FrameWatch&) = delete;
  FrameWatch& operator=(const FrameWatch&) = delete;

  std::uint16_t port() const { return port_of(listener_.get()); }

 private:
  void accept_all() {
    while (!stop_) {
      Socket client(::accept(listener_.get(), nullptr, nullptr));
      if (client.get() < 0) return;
      Socket coordinator = calling(to_);
      if (coordinator.get() < 0) continue;
      const std::lock_guard lock(mutex_);
      const int a = client.get(), b = coordinator.get();
      sockets_.push_back(std::move(client));
      sockets_.push_back(std::move(coordinator));
      threads_.emplace_back([this, a, b] { pass(a, b, false); });
      threads_.emplace_back([this, a, b] { pass(b, a, true); });
    }
  }

  static std::string read(int from, std::size_t size) {
    std::string all(size, '\0');
    for (std::size_t done = 0; done < size;) {
      const auto got = ::recv(from, all.data() + done, size - done, 0);
      if (got <= 0) return {};
      done += static_cast<std::size_t>(got);
    }
    return all;
  }

  void pass(int from, int to, bool to_client) {
    for (;;) {
      const std::string head = read(from, kHeaderBytes);
      if (head.empty()) break;
      auto header = parse_header(std::span<const char, kHeaderBytes>(head.data(), kHeaderBytes));
      if (!header) break;
      const std::string body = read(from, header->length);
      if (body.empty() || !seen_(header->kind, body, to_client) || !send_all(to, head + body)) break;
    }
    ::shutdown(from, SHUT_RDWR);
    ::shutdown(to, SHUT_RDWR);
  }

  std::uint16_t to_;
  Seen seen_;
  Socket listener_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::list<std::thread> threads_;
  std::list<Socket> sockets_;
};

}  // namespace fedstride::test
