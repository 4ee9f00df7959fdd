#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "sim/net/messages.hpp"
#include "tests/support/sockets.hpp"

namespace fedstride::test {

enum class Fault { cut, cut_inside, delay, swap, repeat, damage_header, damage_body };
inline constexpr Fault kAllFaults[] = {Fault::cut,    Fault::cut_inside,    Fault::delay,      Fault::swap,
                                       Fault::repeat, Fault::damage_header, Fault::damage_body};

/// Stands between clients and coordinator, and does harm at frame boundaries. Which frame is harmed and how follows
/// from the seed and the frame's place (connection, direction, number), not from the moment it comes.
class FaultProxy {
 public:
  struct Plan {
    std::uint64_t seed = 1;
    /// Each of these is done once to a frame of each of these kinds, unless the run ends before.
    std::vector<Fault> faults{std::begin(kAllFaults), std::end(kAllFaults)};
    std::vector<FrameKind> kinds{FrameKind::hello, FrameKind::welcome, FrameKind::ready,    FrameKind::model,
                                 FrameKind::train, FrameKind::update,  FrameKind::received, FrameKind::heartbeat};
    /// From the first model of this round on everything passes; so that every client is there at the end.
    std::uint32_t calm_from = 0xffffffff;
    /// The traffic cannot be read (TLS): bytes are harmed as they come; the kinds then only say how often.
    bool opaque = false;
    double chance = 0.4;  ///< that a frame that could be harmed is
  };

  FaultProxy(std::uint16_t to, Plan plan) : to_(to), plan_(std::move(plan)), listener_(listening(0)) {
    for (const Fault fault : plan_.faults)
      for (const FrameKind kind : plan_.kinds) left_.emplace(kind, fault);
    thread_ = std::thread([this] { work(); });
  }
  ~FaultProxy() {
    stop_ = true;
    thread_.join();
  }
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  std::uint16_t port() const { return port_of(listener_.get()); }
  /// How many are still to be done.
  std::size_t left() const {
    const std::lock_guard lock(mutex_);
    return left_.size();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kDelay{150};

  struct Way {
    Way(int a, int b) : from(a), to(b) {}
    int from, to;
    std::string in;    // not yet a whole frame
    std::string held;  // waits for the frame it is to follow
    Clock::time_point held_until;
    std::deque<std::pair<Clock::time_point, std::string>> out;  // not before its time
    std::uint32_t frames = 0;
    bool ended = false;
  };
  struct Pair {
    Pair(Socket a, Socket b, std::uint32_t n)
        : client(std::move(a)),
          coordinator(std::move(b)),
          ways{{client.get(), coordinator.get()}, {coordinator.get(), client.get()}},
          number(n) {}
    Socket client, coordinator;
    Way ways[2];
    std::uint32_t number;
    bool cut = false;
  };

  void work() {
    while (!stop_) {
      std::vector<pollfd> fds{{listener_.get(), POLLIN, 0}};
      for (const Pair& pair : pairs_)
        for (const Way& way : pair.ways)
          if (!way.ended) fds.push_back({way.from, POLLIN, 0});
      poll(fds.data(), fds.size(), 5);
      if ((fds[0].revents & POLLIN) != 0) take();
      for (Pair& pair : pairs_)
        for (std::size_t i = 0; i < 2; ++i) pass(pair, i);
      pairs_.remove_if([](const Pair& pair) {
        const auto done = [](const Way& way) { return way.ended && way.out.empty() && way.held.empty(); };
        return pair.cut || (done(pair.ways[0]) && done(pair.ways[1]));
      });
    }
  }

  void take() {
    Socket client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Socket coordinator = calling(to_);
    if (client.get() < 0 || coordinator.get() < 0) return;  // the caller finds its connection closed
    pairs_.emplace_back(std::move(client), std::move(coordinator), connections_++);
  }

  void pass(Pair& pair, std::size_t direction) {
    Way& way = pair.ways[direction];
    char bytes[65536];
    while (!way.ended && !pair.cut) {
      const auto size = recv(way.from, bytes, sizeof bytes, MSG_DONTWAIT);
      if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) break;
      if (size <= 0)
        way.ended = true;
      else
        way.in.append(bytes, static_cast<std::size_t>(size));
    }
    while (!pair.cut) {
      const std::string frame = next_frame(way);
      if (frame.empty()) break;
      harm(pair, way, direction, frame);
    }
    if (!way.held.empty() && (way.ended || Clock::now() >= way.held_until))
      way.out.emplace_back(Clock::now(), std::exchange(way.held, {}));
    while (!way.out.empty() && way.out.front().first <= Clock::now()) {
      if (!send_all(way.to, way.out.front().second)) pair.cut = true;
      way.out.pop_front();
    }
    if (way.ended && way.out.empty()) shutdown(way.to, SHUT_WR);
  }

  std::string next_frame(Way& way) const {
    std::size_t size = way.in.size();
    if (!plan_.opaque) {
      if (size < kHeaderBytes) return {};
      auto header = parse_header(std::span<const char, kHeaderBytes>(way.in.data(), kHeaderBytes));
      if (header) size = kHeaderBytes + header->length;  // else not a frame: it passes as it is
      if (way.in.size() < size) return {};
    }
    std::string frame = way.in.substr(0, size);
    way.in.erase(0, size);
    return frame;
  }

  void harm(Pair& pair, Way& way, std::size_t direction, std::string frame) {
    RandomStream random(
        plan_.seed,
        {.purpose = Purpose::test, .client = pair.number, .step = static_cast<std::uint32_t>(direction), .row = way.frames++});
    const auto soon = [&](std::string what) {
      way.out.emplace_back(way.out.empty() ? Clock::now() : way.out.back().first, std::move(what));
    };
    std::string follows = std::exchange(way.held, {});
    const auto fault = choose(frame, random);
    switch (fault.value_or(Fault::swap)) {
      case Fault::cut:
        pair.cut = true;
        return;
      case Fault::cut_inside:
        for (auto& [when, earlier] : way.out) send_all(way.to, earlier);
        send_all(way.to, frame.substr(0, 1 + random.below(frame.size() - 1)));
        pair.cut = true;
        return;
      case Fault::delay:
        way.out.emplace_back(Clock::now() + kDelay, frame);
        break;
      case Fault::swap:
        if (fault) {
          way.held = frame;
          way.held_until = Clock::now() + kDelay;
        } else {
          soon(frame);
        }
        break;
      case Fault::repeat:
        soon(frame);
        soon(frame);
        break;
      case Fault::damage_header:
      case Fault::damage_body: {
        const bool header = fault == Fault::damage_header && !plan_.opaque;
        const std::size_t begin = header || plan_.opaque ? 0 : kHeaderBytes;
        const std::size_t end = header ? kHeaderBytes : frame.size();
        frame[begin + random.below(end - begin)] ^= static_cast<char>(1U << random.below(8));
        soon(frame);
        break;
      }
    }
    if (!follows.empty()) soon(std::move(follows));
  }

  std::optional<Fault> choose(const std::string& frame, RandomStream& random) {
    const std::lock_guard lock(mutex_);
    if (calm_ || left_.empty()) return std::nullopt;
    std::optional<FrameKind> kind;
    if (!plan_.opaque) {
      auto header = parse_header(std::span<const char, kHeaderBytes>(frame.data(), kHeaderBytes));
      if (!header) return std::nullopt;
      kind = header->kind;
      if (kind == FrameKind::model) {
        auto message = decode<ModelMessage>(std::string_view(frame).substr(kHeaderBytes));
        calm_ = message && message->round >= plan_.calm_from;
        if (calm_) return std::nullopt;
      }
    }
    std::vector<std::pair<FrameKind, Fault>> possible;
    for (const auto& one : left_)
      if (!kind || one.first == *kind) possible.push_back(one);
    if (possible.empty() || random.uniform() >= plan_.chance) return std::nullopt;
    const auto chosen = possible[random.below(possible.size())];
    left_.erase(chosen);
    return chosen.second;
  }

  std::uint16_t to_;
  Plan plan_;
  Socket listener_;
  std::list<Pair> pairs_;
  std::uint32_t connections_ = 0;
  mutable std::mutex mutex_;
  std::set<std::pair<FrameKind, Fault>> left_;
  bool calm_ = false;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace fedstride::test
