#pragma once

#include <asio.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/function_ref.hpp"
#include "net/source.hpp"

// Only listener.cpp includes it, since Asio is slow to compile.

namespace fedstride {

Source source_of(const asio::ip::address& address);

/// Connections that have not shown yet that they speak TLS. Each costs a socket and a few bytes; nothing is computed for it.
/// A connection is ready for a handshake when its first record has come whole and begins as a ClientHello does.
///
/// Who says nothing holds a place, and keeps nobody out: in a full room the source that holds most places gives one up for a
/// newcomer, the oldest that is silent, but nobody before a time of grace. So among any number of silent connections from one
/// source another source's are never given up, and one from the same source has at least the time of grace for its first bytes.
class WaitingRoom : public std::enable_shared_from_this<WaitingRoom> {
 public:
  struct Limits {
    std::size_t places = 256;                  ///< waiting connections
    std::chrono::milliseconds grace{100};      ///< nobody is given up for another before
    std::chrono::milliseconds longest{10000};  ///< to wait for the first record
  };
  struct Events {
    std::function<void()> ready;  ///< one more connection is ready for its handshake
    /// Connections that were closed; `address` is that of the last one.
    std::function<void(const std::string& address, const std::string& reason, std::uint64_t connections)> closed;
  };
  /// A connection that has left the room for its handshake.
  struct Caller {
    asio::ip::tcp::socket socket;
    std::string first_record;  ///< read from the socket already
    Source source = 0;
  };

  WaitingRoom(asio::io_context& io, const Limits& limits, Events events);

  /// The time until another connection can enter; zero: now.
  std::chrono::milliseconds until_room() const;
  /// Takes a connection, for which another one may be given up. Requires until_room() zero.
  void enter(asio::ip::tcp::socket socket);
  /// Gives up the connection that would make room next, if there is any.
  void give_one_up();
  /// The first connection that is ready and whose source `may` have a handshake; it leaves the room.
  std::optional<Caller> next(function_ref<bool(Source)> may);
  bool anybody_ready() const { return ready_ > 0; }
  /// Closes all connections; no event is called any more.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Place {
    asio::ip::tcp::socket socket;
    Source source;
    std::string address;
    Clock::time_point since = Clock::now();
    std::string bytes = {};
    std::size_t received = 0;
    bool ready = false;
    bool left = false;
  };
  using PlacePtr = std::shared_ptr<Place>;

  void read(const PlacePtr& place);
  void look_at(const PlacePtr& place);
  void leave(const PlacePtr& place);
  /// Closes a connection of which nothing is to be said but that it was there.
  void drop(const PlacePtr& place);
  PlacePtr victim() const;
  void look_later();
  void tell_dropped();

  Limits limits_;
  Events events_;
  asio::steady_timer timer_;
  std::list<PlacePtr> places_;  ///< in order of their coming
  std::size_t ready_ = 0;
  std::uint64_t dropped_ = 0;  ///< that were not told of yet
  std::string last_dropped_;
  bool looking_ = false;
  bool closed_ = false;
};

}  // namespace fedstride
