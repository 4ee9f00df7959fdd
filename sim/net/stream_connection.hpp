#pragma once

#include <openssl/ssl.h>

#include <algorithm>
#include <asio.hpp>
#include <asio/ssl.hpp>
#include <deque>

#include "core/text.hpp"
#include "sim/net/connection.hpp"
#include "sim/net/messages.hpp"
#include "sim/net/timer.hpp"

// A connection over plain TCP or TLS. Included only by listener.cpp, since Asio is slow to compile.

namespace fedstride {

using asio::ip::tcp;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Transport::Context {
  Context(Side which, const TlsFiles& files)
      : side(which), ssl(which == Side::server ? asio::ssl::context::tlsv13_server : asio::ssl::context::tlsv13_client) {
    ssl.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    trust(files.authority);
    ssl.use_certificate_file(files.certificate.string(), asio::ssl::context::pem);
    ssl.use_private_key_file(files.key.string(), asio::ssl::context::pem);
    SSL_CTX_set_num_tickets(ssl.native_handle(), 0);  // no session is resumed; every connection authenticates again
  }
  /// Trusts the authorities in the file, but no other certificates in it.
  void trust(const std::filesystem::path& authorities);
  Side side;
  asio::ssl::context ssl;
};

using PlainStream = tcp::socket;
using TlsStream = asio::ssl::stream<tcp::socket>;

inline constexpr std::size_t kPiece = std::size_t{1} << 18;  // bytes of a body read between checks of the clock
inline constexpr milliseconds kFlush{3000};                  // time for sending queued frames before closing
inline constexpr std::size_t kMaxQueuedFrames = 64;          // with more, the peer counts as not reading

/// Returns the peer's address.
inline std::string address_of(const auto& socket) {
  std::error_code ignored;
  const tcp::endpoint endpoint = socket.remote_endpoint(ignored);
  return Endpoint{endpoint.address().to_string(), endpoint.port()}.text();
}

/// Returns the peer's certificate; empty if there is none.
PeerCertificate peer_of(SSL* ssl);

/// Returns the reason why reading or the handshake failed.
inline std::string reason_of(const std::error_code& error) {
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) return "it closed the connection";
  return error.message();
}

/// See Connection; Stream is PlainStream or TlsStream.
template <class Stream>
class StreamConnection final : public Connection {
 public:
  StreamConnection(Stream stream, std::shared_ptr<void> token)
      : stream_(std::move(stream)), timer_(stream_.get_executor()), token_(std::move(token)) {
    std::error_code ignored;
    stream_.lowest_layer().set_option(tcp::no_delay(true), ignored);
    address_ = address_of(stream_.lowest_layer());
    if constexpr (std::is_same_v<Stream, TlsStream>) peer_ = peer_of(stream_.native_handle());
  }

  void start(Handlers handlers) override {
    handlers_ = std::move(handlers);
    read_header();
  }

  void send(Frame frame, FrameKind kind) override {
    if (ended_) return;
    if (kind == FrameKind::model || kind == FrameKind::train)
      std::erase_if(queue_, [&](const Queued& queued) { return queued.kind == kind; });
    if (queue_.size() >= kMaxQueuedFrames) return end("it is not reading", false);
    queue_.push_back({std::move(frame), kind});
    if (!writing_) write_next();
  }

  void read_on() override {
    if (ended_ || !paused_) return;
    paused_ = false;
    note_activity();
    read_body();
  }

  void end(const std::string& reason, bool flush) override {
    if (ended_) return;
    ended_ = true;
    timer_.cancel();
    if (flush) {
      // Queued frames may still be sent. Meanwhile, incoming bytes are read and discarded, since closing with unread bytes would
      // reset the connection before the peer has read the reason.
      after(timer_, kFlush, [self = self()] { self->close(); });
      if (!writing_) half_close();
    } else {
      close();
    }
    body_ = {};
    if (handlers_.ended) {
      auto ended = std::move(handlers_.ended);
      handlers_ = {};
      ended(reason);
    }
  }

  void set_silence(milliseconds longest) override {
    silence_ = longest;
    check_silence();
  }

 private:
  struct Queued {
    Frame frame;
    FrameKind kind;
  };

  std::shared_ptr<StreamConnection> self() { return std::static_pointer_cast<StreamConnection>(shared_from_this()); }

  void note_activity() { last_received_ = Clock::now(); }

  void check_silence() {
    if (ended_) return;
    after(timer_, std::max<Clock::duration>(last_received_ + silence_ - Clock::now(), milliseconds(10)), [self = self()] {
      if (self->ended_) return;
      if (!self->paused_ && Clock::now() - self->last_received_ >= self->silence_)
        return self->end("it has been silent for " + number_text(std::chrono::duration<double>(self->silence_).count()) + " s",
                         false);
      if (self->paused_) self->note_activity();
      self->check_silence();
    });
  }

  // Called when the stream has failed: the peer or the network ended the connection.
  void failed(const std::error_code& error) {
    if (!ended_) end(reason_of(error), false);
  }

  void read_header() {
    asio::async_read(stream_, asio::buffer(header_bytes_), [self = self()](std::error_code error, std::size_t size) {
      self->received_ += size;
      if (self->ended_) return self->drain();
      if (error) return self->failed(error);
      self->note_activity();
      auto header = parse_header(self->header_bytes_);
      if (!header) {
        self->speaks_another_version_ = is_of_another_version(self->header_bytes_);
        // The peer cannot read this frame, but its header says which version is here.
        if (self->speaks_another_version_) self->send(encode(Refused{header.reason(), false}), FrameKind::refused);
        self->end(header.reason(), true);
        return self->drain();
      }
      self->header_ = *header;
      switch (self->handlers_.admit(self->header_)) {
        case Verdict::read:
          return self->read_body();
        case Verdict::wait:
          self->paused_ = true;
          return;
        case Verdict::refuse:
          if (!self->ended_) self->end("refused", true);
          return self->drain();
      }
    });
  }

  void read_body() {
    body_.clear();
    body_.reserve(static_cast<std::size_t>(header_.length));
    read_piece();
  }

  void read_piece() {
    const std::size_t done = body_.size();
    const std::size_t piece = std::min<std::size_t>(kPiece, static_cast<std::size_t>(header_.length) - done);
    if (piece == 0) return finish_frame();
    body_.resize(done + piece);
    asio::async_read(stream_, asio::buffer(body_.data() + done, piece), [self = self()](std::error_code error, std::size_t size) {
      self->received_ += size;
      if (self->ended_) return self->drain();
      if (error) return self->failed(error);
      self->note_activity();
      self->read_piece();
    });
  }

  void finish_frame() {
    if (!is_whole(header_, body_)) {
      end("one of its frames was damaged in transit", true);
      return drain();
    }
    // The handler may end the connection and thus destroy the handlers.
    const auto received = handlers_.received;
    received(header_.kind, std::exchange(body_, {}));
    if (ended_) return drain();
    read_header();
  }

  void write_next() {
    if (queue_.empty()) {
      writing_ = false;
      if (ended_) half_close();
      return;
    }
    writing_ = true;
    sending_ = std::move(queue_.front().frame);
    queue_.pop_front();
    asio::async_write(stream_, asio::buffer(*sending_), [self = self()](std::error_code error, std::size_t size) {
      self->sent_ += size;
      self->sending_ = nullptr;
      if (error) {
        self->writing_ = false;
        return self->ended_ ? self->close() : self->failed(error);
      }
      self->write_next();
    });
  }

  void half_close() {
    std::error_code ignored;
    stream_.lowest_layer().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.lowest_layer().cancel(ignored);  // wakes the pending read, which then drains
    if (paused_) drain();
  }

  void drain() {
    if (!stream_.lowest_layer().is_open()) return;
    paused_ = false;
    lowest().async_read_some(asio::buffer(discarded_), [self = self()](std::error_code error, std::size_t) {
      if (error && error != asio::error::operation_aborted) return self->close();
      self->drain();
    });
  }

  tcp::socket& lowest() {
    if constexpr (std::is_same_v<Stream, TlsStream>)
      return stream_.next_layer();
    else
      return stream_;
  }

  void close() {
    timer_.cancel();
    close_quietly(stream_.lowest_layer());
  }

  Stream stream_;
  asio::steady_timer timer_;
  std::shared_ptr<void> token_;
  Handlers handlers_;
  milliseconds silence_{60000};
  std::array<char, kHeaderBytes> header_bytes_{};
  FrameHeader header_;
  std::string body_;
  std::array<char, 4096> discarded_{};
  std::deque<Queued> queue_;
  Frame sending_;
  bool writing_ = false;
  bool paused_ = false;
  bool ended_ = false;
};

}  // namespace fedstride
