#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>

namespace fedstride {

/// The source of a connection, to which limits apply: an IPv4 address, or the first 64 bits of an IPv6 address, since a single
/// machine may use all addresses of that network.
using Source = std::uint64_t;

/// Returns the source of an IPv6 address, which may be a mapped IPv4 address (192.0.2.1 in its last four bytes).
inline Source source_of(const std::array<std::uint8_t, 16>& address) {
  constexpr std::array<std::uint8_t, 12> kIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool is_ipv4 = std::equal(kIpv4.begin(), kIpv4.end(), address.begin());
  Source source = 0;
  for (std::size_t i = is_ipv4 ? 12 : 0; i < (is_ipv4 ? 16U : 8U); ++i) source = source << 8 | address[i];
  return source;
}

/// A limited number of slots for sockets, each served by its own thread. No source can keep others out: when all slots are taken,
/// the oldest socket of the source that holds the most slots is evicted for a new one, but never within a grace period. Evicting
/// a socket shuts it down, which wakes the thread that waits for it.
class ConnectionSlots {
 public:
  ConnectionSlots(std::size_t slots, std::chrono::milliseconds grace) : slots_(slots), grace_(grace) {}

  /// Waits for a free slot and reserves it for the next take(). Returns false, without waiting, once end() has been called.
  bool reserve();
  /// Takes a reserved slot. Returns false once end() has been called.
  bool take(int socket);
  /// Frees the socket's slot; the socket is not accessed afterwards.
  void release(int socket);
  /// Shuts all sockets down.
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  struct Slot {
    int socket;
    Source source;
    Clock::time_point since = Clock::now();
    bool evicted = false;
  };

  Slot* victim();

  std::size_t slots_;
  std::chrono::milliseconds grace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Slot> held_;  ///< oldest first
  std::size_t reserved_ = 0;
  bool ended_ = false;
};

}  // namespace fedstride
