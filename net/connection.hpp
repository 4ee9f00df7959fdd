#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/endpoint.hpp"
#include "net/certificates.hpp"
#include "net/frame.hpp"

namespace asio {
class io_context;
}

namespace fedstride {

/// How a side proves itself and whom it believes: TLS 1.3 with certificates on both sides, or, between processes of one
/// machine alone, nothing.
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

/// One connection to a peer, frames in and out. All of it happens on the thread that runs the io_context.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// What becomes of a frame whose header has come.
  enum class Verdict {
    read,   ///< its body is read
    wait,   ///< not now: read_on() says when
    refuse  ///< the connection ends; `Handlers::admit` has said why through end()
  };
  /// Whoever owns the connection. Called on the io thread; `ended` once, last.
  struct Handlers {
    std::function<Verdict(const FrameHeader& header)> admit;  ///< before memory for the body is asked for
    std::function<void(FrameKind kind, std::string body)> received;
    std::function<void(const std::string& reason)> ended;     ///< empty reason: this side ended it in good order
  };

  virtual ~Connection() = default;

  /// Begins to read. The common name of the peer's certificate is known from here on.
  virtual void start(Handlers handlers) = 0;
  /// Frames are sent in order. Behind a peer that does not read, a queued frame of kind `model` or `train` that has not
  /// begun to leave is dropped for a newer one of its kind: no more than one round waits.
  virtual void send(Frame frame, FrameKind kind) = 0;
  /// After Verdict::wait.
  virtual void read_on() = 0;
  /// Ends the connection: at once, or once all that was sent has left (or a few seconds later). `ended` is told `reason`.
  virtual void end(const std::string& reason, bool flush) = 0;
  /// The connection ends when no byte has come for so long.
  virtual void set_silence(std::chrono::milliseconds longest) = 0;

  const std::string& peer_name() const { return peer_name_; }  ///< of its certificate; empty where plain
  const std::string& address() const { return address_; }      ///< "127.0.0.1:41234"
  std::uint64_t bytes_received() const { return received_; }
  std::uint64_t bytes_sent() const { return sent_; }
  std::chrono::steady_clock::time_point last_received() const { return last_received_; }

 protected:
  std::string peer_name_;
  std::string address_;
  std::uint64_t received_ = 0;
  std::uint64_t sent_ = 0;
  std::chrono::steady_clock::time_point last_received_ = std::chrono::steady_clock::now();
};
using ConnectionPtr = std::shared_ptr<Connection>;

/// Takes connections and sees them through the handshake of TLS.
class Listener {
 public:
  struct Limits {
    std::size_t connections = 64;  ///< open ones, handshakes counted; one more is closed at once
    std::size_t handshakes = 16;   ///< unfinished ones; more wait in the kernel's queue
    std::chrono::milliseconds handshake{10000};
  };
  struct Handlers {
    std::function<void(ConnectionPtr)> accepted;  ///< handshake done, not started
    std::function<void(const std::string& address, const std::string& reason)> failed;
  };
  /// Throws Error (failure) if the place is taken ("cannot listen at '...': Address already in use; ...").
  Listener(asio::io_context& io, const Endpoint& address, Transport transport, const Limits& limits, Handlers handlers);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const;
  /// Takes no more.
  void close();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Calls `address`: `connected` with the connection, or with nullptr and why not.
void connect(asio::io_context& io, const Endpoint& address, Transport transport, std::chrono::milliseconds longest,
             std::function<void(ConnectionPtr, const std::string& reason)> connected);

}  // namespace fedstride
