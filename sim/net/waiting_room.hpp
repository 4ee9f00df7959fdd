#pragma once

#include <algorithm>
#include <map>
#include <optional>

#include "core/function_ref.hpp"
#include "sim/net/places.hpp"
#include "sim/net/stream_connection.hpp"

// Included only by listener.cpp, since Asio is slow to compile.

namespace fedstride {

inline Source source_of(const asio::ip::address& address) {
  return source_of(
      (address.is_v4() ? asio::ip::make_address_v6(asio::ip::v4_mapped, address.to_v4()) : address.to_v6()).to_bytes());
}

/// Connections that have not yet started a TLS handshake. Each costs a socket and a few bytes, but no computation.
/// A connection is ready for its handshake when its first record is complete and starts like a ClientHello.
///
/// Silent connections cannot keep others out: when all slots are taken, the oldest silent connection of the source that holds
/// the most slots is evicted for a new one, but never within a grace period. So silent connections from one source, however
/// many, never evict another source's, and a connection from the same source has at least the grace period for its first
/// bytes.
class PendingConnections : public std::enable_shared_from_this<PendingConnections> {
 public:
  struct Limits {
    std::size_t connections = 256;  ///< maximum number of waiting connections
    milliseconds grace{100};        ///< minimum age before a connection is evicted
    milliseconds longest{10000};    ///< maximum wait for the first record
  };
  struct Events {
    std::function<void()> ready;  ///< another connection is ready for its handshake
    /// Reports that `connections` connections were closed, the last one from `address`.
    std::function<void(const std::string& address, const std::string& reason, std::uint64_t connections)> closed;
  };
  /// A connection handed over for its handshake.
  struct Candidate {
    tcp::socket socket;
    std::string first_record;  ///< already read from the socket
    Source source = 0;
  };

  PendingConnections(asio::io_context& io, const Limits& limits, Events events)
      : limits_(limits), events_(std::move(events)), timer_(io) {}

  /// Returns the time until another connection can be added; zero: now.
  milliseconds time_until_free() const {
    if (pending_.size() < limits_.connections) return milliseconds(0);
    const auto age = Clock::now() - victim()->since;
    return age >= limits_.grace ? milliseconds(0) : std::chrono::ceil<milliseconds>(limits_.grace - age);
  }

  /// Adds a connection, evicting another one if necessary. Requires time_until_free() to be zero.
  void add(tcp::socket socket) {
    if (pending_.size() >= limits_.connections) evict_one();
    std::error_code error;
    const Source source = source_of(socket.remote_endpoint(error).address());
    const std::string address = address_of(socket);
    auto pending = std::make_shared<Pending>(Pending{.socket = std::move(socket), .source = source, .address = address});
    pending_.push_back(pending);
    pending->bytes.resize(kRecordHeader);
    read(pending);
    check_later();
  }

  /// Evicts the connection that victim() selects, if there are any connections.
  void evict_one() {
    if (const PendingPtr pending = victim()) drop(pending);
  }

  /// Removes and returns the first connection that is ready and whose source `may` start a handshake.
  std::optional<Candidate> next(function_ref<bool(Source)> may) {
    for (const PendingPtr& pending : pending_) {
      if (!pending->ready || !may(pending->source)) continue;
      Candidate candidate{std::move(pending->socket), std::move(pending->bytes), pending->source};
      remove(PendingPtr(pending));
      return candidate;
    }
    return std::nullopt;
  }

  bool has_ready() const { return ready_ > 0; }
  /// Closes all connections; no events are called afterwards.
  void close() {
    closed_ = true;
    timer_.cancel();
    for (const PendingPtr& pending : std::list(pending_)) remove(pending);
  }

 private:
  struct Pending {
    tcp::socket socket;
    Source source;
    std::string address;
    Clock::time_point since = Clock::now();
    std::string bytes = {};
    std::size_t received = 0;
    bool ready = false;
    bool left = false;
  };
  using PendingPtr = std::shared_ptr<Pending>;

  static constexpr std::size_t kRecordHeader = 5;      // type, version, length
  static constexpr std::size_t kMaxRecord = 1 << 14;   // bytes after the header (RFC 8446, section 5.1)
  static constexpr milliseconds kCheckInterval{1000};  // interval for closing overdue connections, which are logged in one line

  static std::size_t record_length(const std::string& bytes) {
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])); };
    return byte(3) << 8 | byte(4);
  }

  static constexpr char kClientHello = 1;

  /// True for type 22 (handshake), version 3.x and a plausible length.
  static bool begins_handshake(const std::string& bytes) {
    const std::size_t length = record_length(bytes);
    return bytes[0] == 22 && bytes[1] == 3 && length >= 4 && length <= kMaxRecord;
  }

  void read(const PendingPtr& pending) {
    const auto rest = asio::buffer(pending->bytes) + pending->received;
    pending->socket.async_read_some(rest, [self = shared_from_this(), pending](std::error_code error, std::size_t size) {
      if (pending->left || self->closed_) return;
      if (error) return self->drop(pending);
      pending->received += size;
      self->on_bytes(pending);
    });
  }

  void on_bytes(const PendingPtr& pending) {
    if (pending->received < pending->bytes.size()) return read(pending);
    const bool whole = pending->received > kRecordHeader;
    if (whole ? pending->bytes[kRecordHeader] != kClientHello : !begins_handshake(pending->bytes)) {
      remove(pending);
      return events_.closed(pending->address, "its TLS 1.3 handshake failed: it did not start with a ClientHello", 1);
    }
    if (!whole) {
      pending->bytes.resize(kRecordHeader + record_length(pending->bytes));
      return read(pending);
    }
    pending->ready = true;
    ++ready_;
    events_.ready();
  }

  void remove(const PendingPtr& pending) {
    pending->left = true;
    if (pending->ready) --ready_;
    close_quietly(pending->socket);
    pending_.remove(pending);
  }

  /// Closes a connection; the next log line only counts it.
  void drop(const PendingPtr& pending) {
    ++dropped_;
    last_dropped_ = pending->address;
    remove(pending);
  }

  PendingPtr victim() const {
    std::map<Source, std::size_t> held;
    std::size_t most = 0;
    for (const PendingPtr& pending : pending_) most = std::max(most, ++held[pending->source]);
    PendingPtr oldest;
    for (const PendingPtr& pending : pending_) {
      if (held[pending->source] < most) continue;
      if (!pending->ready) return pending;
      if (!oldest) oldest = pending;
    }
    return oldest;
  }

  void check_later() {
    if (checking_ || closed_) return;
    checking_ = true;
    after(timer_, kCheckInterval, [self = shared_from_this()] {
      self->checking_ = false;
      if (self->closed_) return;
      while (!self->pending_.empty() && Clock::now() - self->pending_.front()->since >= self->limits_.longest)
        self->drop(PendingPtr(self->pending_.front()));
      self->report_dropped();
      if (!self->pending_.empty()) self->check_later();
    });
  }

  void report_dropped() {
    const std::uint64_t dropped = std::exchange(dropped_, 0);
    if (dropped == 0) return;
    events_.closed(last_dropped_,
                   dropped == 1 ? "it never started a handshake"
                                : "the last of " + std::to_string(dropped) + " connections that never started a handshake",
                   dropped);
  }

  Limits limits_;
  Events events_;
  asio::steady_timer timer_;
  std::list<PendingPtr> pending_;  ///< oldest first
  std::size_t ready_ = 0;
  std::uint64_t dropped_ = 0;  ///< dropped connections not yet reported
  std::string last_dropped_;
  bool checking_ = false;
  bool closed_ = false;
};

}  // namespace fedstride
