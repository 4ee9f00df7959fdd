#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sim/net/certificates.hpp"
#include "sim/net/endpoint.hpp"
#include "sim/net/frame.hpp"
#include "sim/net/network_log.hpp"

namespace asio {
class io_context;
}

namespace fedstride {

/// The authentication of a connection: TLS 1.3 with certificates on both sides or, allowed only between processes on one
/// machine, none.
class Transport {
 public:
  enum class Side { server, client };
  /// Throws Error (failure) if the files cannot be used (check_files).
  static Transport tls(Side side, const TlsFiles& files, std::string_view name);
  static Transport plain();

  struct Context;
  Context* context() const { return context_.get(); }  ///< nullptr: plain

 private:
  std::shared_ptr<Context> context_;
};

/// A connection that exchanges frames with a peer. Everything runs on the thread of the io_context.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// The decision on a frame whose header has arrived.
  enum class Verdict {
    read,   ///< its body is read
    wait,   ///< its body is not read until read_on() is called
    refuse  ///< the connection ends; `Handlers::admit` has called end() with the reason
  };
  /// The owner's handlers, called on the io thread; `ended` is called once, after all others.
  struct Handlers {
    std::function<Verdict(const FrameHeader& header)> admit;  ///< called before the body is allocated
    std::function<void(FrameKind kind, std::string body)> received;
    std::function<void(const std::string& reason)> ended;  ///< empty reason: this side closed the connection normally
  };

  virtual ~Connection() = default;

  /// Starts reading. The common name of the peer's certificate is already known.
  virtual void start(Handlers handlers) = 0;
  /// Sends frames in order. If the peer does not read, a newer `model` or `train` frame replaces a queued one of the same
  /// kind whose sending has not started, so at most one round is queued.
  virtual void send(Frame frame, FrameKind kind) = 0;
  /// Resumes reading after Verdict::wait.
  virtual void read_on() = 0;
  /// Ends the connection immediately or, with `flush`, once all queued frames are sent (or after a few seconds). `ended`
  /// receives `reason`.
  virtual void end(const std::string& reason, bool flush) = 0;
  /// Ends the connection once nothing has arrived for this long.
  virtual void set_silence(std::chrono::milliseconds longest) = 0;

  const std::string& peer_name() const { return peer_.name; }  ///< from its certificate; empty if plain
  const PeerCertificate& peer() const { return peer_; }
  const std::string& address() const { return address_; }  ///< "127.0.0.1:41234"
  std::uint64_t bytes_received() const { return received_; }
  std::uint64_t bytes_sent() const { return sent_; }
  std::chrono::steady_clock::time_point last_received() const { return last_received_; }
  bool speaks_another_version() const { return speaks_another_version_; }  ///< it ended for that reason

 protected:
  PeerCertificate peer_;
  std::string address_;
  std::uint64_t received_ = 0;
  std::uint64_t sent_ = 0;
  std::chrono::steady_clock::time_point last_received_ = std::chrono::steady_clock::now();
  bool speaks_another_version_ = false;
};
using ConnectionPtr = std::shared_ptr<Connection>;

/// Accepts connections and performs the TLS handshake.
class Listener {
 public:
  struct Limits {
    std::size_t connections = 64;  ///< maximum open after the handshake; further connections are closed immediately
    std::size_t waiting = 256;     ///< maximum number waiting for their first bytes (PendingConnections)
    std::size_t handshakes = 32;   ///< maximum in progress, at most half of them from one source; others wait
    std::chrono::milliseconds handshake{10000};
  };
  struct Handlers {
    std::function<void(ConnectionPtr)> accepted;  ///< after the handshake, before start()
    /// Reports that `connections` connections were rejected, the last one from `address`.
    std::function<void(const std::string& address, const std::string& reason, std::uint64_t connections)> failed;
  };
  /// Throws Error (failure) if it cannot listen on the address, for example because it is in use.
  Listener(asio::io_context& io, const Endpoint& address, Transport transport, const Limits& limits, Handlers handlers);
  ~Listener();
  Listener& operator=(Listener&&) = delete;

  std::uint16_t port() const;
  /// New connections use this transport. It must be of the same kind, TLS or plain.
  void renew(Transport transport);
  /// Stops accepting connections.
  void close();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Connects to `address`; calls `connected` with the connection, or with nullptr and the reason for the failure.
void connect(asio::io_context& io, const Endpoint& address, Transport transport, std::chrono::milliseconds longest,
             std::function<void(ConnectionPtr, const std::string& reason)> connected);

}  // namespace fedstride
