#pragma once

#include <openssl/ssl.h>

#include <algorithm>
#include <asio.hpp>
#include <asio/ssl.hpp>
#include <deque>

#include "core/text.hpp"
#include "net/connection.hpp"

// A connection over a TCP socket or over TLS. Only listener.cpp and transport.cpp include it, since Asio is slow to compile.

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
    SSL_CTX_set_num_tickets(ssl.native_handle(), 0);  // connections are never resumed: each authenticates again
  }
  /// All authorities of a file, and no other certificate of it.
  void trust(const std::filesystem::path& authorities);
  Side side;
  asio::ssl::context ssl;
};

using PlainStream = tcp::socket;
using TlsStream = asio::ssl::stream<tcp::socket>;

inline constexpr std::size_t kPiece = std::size_t{1} << 18;  // bytes of a body between two checks of the clock
inline constexpr milliseconds kFlush{3000};                  // time for sent frames to leave before the end
inline constexpr std::size_t kMaxQueuedFrames = 64;          // frames; the peer reads nothing if there are more

inline std::string text_of(const tcp::endpoint& endpoint) {
  return Endpoint{endpoint.address().to_string(), endpoint.port()}.text();
}

/// The peer's certificate; empty if there is none.
PeerCertificate peer_of(SSL* ssl);

/// The reason why reading or the handshake failed, in words a person can act on.
inline std::string words(const std::error_code& error) {
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
    address_ = text_of(stream_.lowest_layer().remote_endpoint(ignored));
    if constexpr (std::is_same_v<Stream, TlsStream>) peer_ = peer_of(stream_.native_handle());
  }

  void start(Handlers handlers) override {
    handlers_ = std::move(handlers);
    read_header();
  }

  void send(Frame frame, FrameKind kind) override {
    if (ended_) return;
    if (kind == FrameKind::model || kind == FrameKind::train)
      std::erase_if(waiting_, [&](const Queued& queued) { return queued.kind == kind; });
    if (waiting_.size() >= kMaxQueuedFrames) return end("it reads nothing", false);
    waiting_.push_back({std::move(frame), kind});
    if (!writing_) write_next();
  }

  void read_on() override {
    if (ended_ || !paused_) return;
    paused_ = false;
    heard();
    read_body();
  }

  void end(const std::string& reason, bool flush) override {
    if (ended_) return;
    ended_ = true;
    timer_.cancel();
    if (flush) {
      // Sent frames may still leave. Incoming bytes are read and dropped meanwhile: closing on unread bytes would reset the
      // connection before the peer has read the reason.
      timer_.expires_after(kFlush);
      timer_.async_wait([self = self()](std::error_code error) {
        if (!error) self->close();
      });
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
    watch();
  }

 private:
  struct Queued {
    Frame frame;
    FrameKind kind;
  };

  std::shared_ptr<StreamConnection> self() { return std::static_pointer_cast<StreamConnection>(shared_from_this()); }

  void heard() { last_received_ = Clock::now(); }

  void watch() {
    if (ended_) return;
    timer_.expires_at(std::max(last_received_ + silence_, Clock::now() + milliseconds(10)));
    timer_.async_wait([self = self()](std::error_code error) {
      if (error || self->ended_) return;
      if (!self->paused_ && Clock::now() - self->last_received_ >= self->silence_)
        return self->end("it has been silent for " + number_text(std::chrono::duration<double>(self->silence_).count()) + " s",
                         false);
      if (self->paused_) self->heard();
      self->watch();
    });
  }

  // The stream failed: the peer or the network ended the connection.
  void failed(const std::error_code& error) {
    if (!ended_) end(words(error), false);
  }

  void read_header() {
    asio::async_read(stream_, asio::buffer(header_bytes_), [self = self()](std::error_code error, std::size_t size) {
      self->received_ += size;
      if (self->ended_) return self->drain();
      if (error) return self->failed(error);
      self->heard();
      auto header = parse_header(self->header_bytes_);
      if (!header) {
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
      self->heard();
      self->read_piece();
    });
  }

  void finish_frame() {
    if (!is_whole(header_, body_)) {
      end("a frame of it was damaged on the way", true);
      return drain();
    }
    // The handler may end the connection, and with it the handlers.
    const auto received = handlers_.received;
    received(header_.kind, std::exchange(body_, {}));
    if (ended_) return drain();
    read_header();
  }

  void write_next() {
    if (waiting_.empty()) {
      writing_ = false;
      if (ended_) half_close();
      return;
    }
    writing_ = true;
    leaving_ = std::move(waiting_.front().frame);
    waiting_.pop_front();
    asio::async_write(stream_, asio::buffer(*leaving_), [self = self()](std::error_code error, std::size_t size) {
      self->sent_ += size;
      self->leaving_ = nullptr;
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
    lowest().async_read_some(asio::buffer(scrap_), [self = self()](std::error_code error, std::size_t) {
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
    std::error_code ignored;
    timer_.cancel();
    stream_.lowest_layer().close(ignored);
  }

  Stream stream_;
  asio::steady_timer timer_;
  std::shared_ptr<void> token_;
  Handlers handlers_;
  milliseconds silence_{60000};
  std::array<char, kHeaderBytes> header_bytes_{};
  FrameHeader header_;
  std::string body_;
  std::array<char, 4096> scrap_{};
  std::deque<Queued> waiting_;
  Frame leaving_;
  bool writing_ = false;
  bool paused_ = false;
  bool ended_ = false;
};

}  // namespace fedstride
