#include "net/connection.hpp"

#include <openssl/ssl.h>

#include <algorithm>
#include <asio.hpp>
#include <asio/ssl.hpp>
#include <deque>
#include <vector>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

using asio::ip::tcp;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Transport::Context {
  Context(Side which, const TlsFiles& files)
      : side(which), ssl(which == Side::server ? asio::ssl::context::tlsv13_server : asio::ssl::context::tlsv13_client) {
    ssl.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    ssl.load_verify_file(files.authority.string());
    ssl.use_certificate_file(files.certificate.string(), asio::ssl::context::pem);
    ssl.use_private_key_file(files.key.string(), asio::ssl::context::pem);
    SSL_CTX_set_num_tickets(ssl.native_handle(), 0);  // a connection is never resumed: each proves itself anew
  }
  Side side;
  asio::ssl::context ssl;
};

Transport Transport::tls(Side side, const TlsFiles& files, std::string_view name) {
  check_files(files, name);
  Transport transport;
  try {
    transport.context_ = std::make_shared<Context>(side, files);
  } catch (const std::system_error& error) {
    throw failure("the certificate '" + files.certificate.string() + "' cannot be used: " + error.what());
  }
  return transport;
}

Transport Transport::plain() { return {}; }

namespace {

using PlainStream = tcp::socket;
using TlsStream = asio::ssl::stream<tcp::socket>;

constexpr std::size_t kPiece = std::size_t{1} << 18;   // of a body, between two looks at the clock
constexpr milliseconds kFlush{3000};                   // for what was sent to leave before the end
constexpr milliseconds kYoung{1000};                   // a handshake that is not to be given up for another
constexpr std::size_t kLongestQueue = 64;              // frames; a peer that reads nothing at all

std::string text_of(const tcp::endpoint& endpoint) {
  return Endpoint{endpoint.address().to_string(), endpoint.port()}.text();
}

std::string common_name(SSL* ssl) {
  X509* certificate = SSL_get1_peer_certificate(ssl);
  if (certificate == nullptr) return {};
  char name[256] = {};
  const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  X509_free(certificate);
  return size > 0 ? std::string(name, static_cast<std::size_t>(size)) : std::string();
}

/// Why reading or the handshake failed, in words a person can act on.
std::string words(const std::error_code& error) {
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) return "it closed the connection";
  return error.message();
}

template <class Stream>
class StreamConnection final : public Connection {
 public:
  StreamConnection(Stream stream, std::shared_ptr<void> token)
      : stream_(std::move(stream)), timer_(stream_.get_executor()), token_(std::move(token)) {
    std::error_code ignored;
    stream_.lowest_layer().set_option(tcp::no_delay(true), ignored);
    address_ = text_of(stream_.lowest_layer().remote_endpoint(ignored));
    if constexpr (std::is_same_v<Stream, TlsStream>) peer_name_ = common_name(stream_.native_handle());
  }

  void start(Handlers handlers) override {
    handlers_ = std::move(handlers);
    read_header();
  }

  void send(Frame frame, FrameKind kind) override {
    if (ended_) return;
    if (kind == FrameKind::model || kind == FrameKind::train)
      std::erase_if(waiting_, [&](const Queued& queued) { return queued.kind == kind; });
    if (waiting_.size() >= kLongestQueue) return end("it reads nothing", false);
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
      // What was sent may still leave; what comes meanwhile is read and thrown away, since closing on unread bytes would
      // reset the connection under the peer before it has read why.
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
        return self->end("it has been silent for " +
                             number_text(std::chrono::duration<double>(self->silence_).count()) + " s",
                         false);
      if (self->paused_) self->heard();
      self->watch();
    });
  }

  // The stream failed; the end is the peer's or the network's doing.
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
    asio::async_read(stream_, asio::buffer(body_.data() + done, piece),
                     [self = self()](std::error_code error, std::size_t size) {
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
    stream_.lowest_layer().cancel(ignored);  // wakes the read in hand, which then drains
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

/// A TLS handshake on its way, with its time limit; then the connection, or why there is none.
class Handshake : public std::enable_shared_from_this<Handshake> {
 public:
  using Done = std::function<void(ConnectionPtr, const std::string& reason)>;

  Handshake(tcp::socket socket, Transport transport, std::shared_ptr<void> token, Done done)
      : transport_(std::move(transport)),
        stream_(std::move(socket), transport_.context()->ssl),
        timer_(stream_.get_executor()),
        token_(std::move(token)),
        done_(std::move(done)) {}

  void start(milliseconds longest) {
    timer_.expires_after(longest);
    timer_.async_wait([self = shared_from_this()](std::error_code error) {
      std::error_code ignored;
      if (!error) self->stream_.lowest_layer().close(ignored);
    });
    const auto side = transport_.context()->side == Transport::Side::server ? asio::ssl::stream_base::server
                                                                            : asio::ssl::stream_base::client;
    stream_.async_handshake(side, [self = shared_from_this()](std::error_code error) { self->finish(error); });
  }

  Clock::time_point since() const { return since_; }
  void abandon() {
    std::error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  void finish(std::error_code error) {
    const bool too_late = !stream_.lowest_layer().is_open();
    timer_.cancel();
    if (!error) {
      auto connection = std::make_shared<StreamConnection<TlsStream>>(std::move(stream_), std::move(token_));
      return done_(std::move(connection), {});
    }
    const long verdict = SSL_get_verify_result(stream_.native_handle());
    std::string reason = too_late                ? "its handshake took too long"
                         : verdict != X509_V_OK ? std::string("its certificate is not valid here: ") +
                                                      X509_verify_cert_error_string(verdict)
                                                 : "no TLS 1.3 handshake with it: " + words(error);
    std::error_code ignored;
    stream_.lowest_layer().close(ignored);
    done_(nullptr, reason);
  }

  Transport transport_;
  TlsStream stream_;
  asio::steady_timer timer_;
  std::shared_ptr<void> token_;
  Done done_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace

struct Listener::Impl : std::enable_shared_from_this<Listener::Impl> {
  Impl(asio::io_context& io, Transport by, const Limits& at_most, Handlers told)
      : acceptor(io), pause(io), transport(std::move(by)), limits(at_most), handlers(std::move(told)) {}

  void take_next() {
    if (taking || closed) return;
    if (handshakes >= limits.handshakes && !drop_oldest()) {
      pause.expires_after(kYoung / 4);
      pause.async_wait([self = shared_from_this()](std::error_code error) {
        if (!error) self->take_next();
      });
      return;
    }
    taking = true;
    acceptor.async_accept([self = shared_from_this()](std::error_code error, tcp::socket socket) {
      self->taking = false;
      if (self->closed) return;
      if (error) {  // out of descriptors, most likely: not to be tried again at once
        self->pause.expires_after(milliseconds(200));
        self->pause.async_wait([self](std::error_code) { self->take_next(); });
        return;
      }
      self->take(std::move(socket));
      self->take_next();
    });
  }

  /// Those who connect and say nothing must not keep the others out: an honest handshake does not take this long.
  bool drop_oldest() {
    std::erase_if(shaking, [](const auto& one) { return one.expired(); });
    if (shaking.empty()) return false;
    const auto oldest = shaking.front().lock();
    if (!oldest || Clock::now() - oldest->since() < kYoung) return false;
    shaking.erase(shaking.begin());
    oldest->abandon();
    return true;
  }

  void take(tcp::socket socket) {
    std::error_code ignored;
    const std::string address = text_of(socket.remote_endpoint(ignored));
    if (open >= limits.connections) {
      handlers.failed(address, "there are " + std::to_string(open) + " connections already, no more are taken");
      return;
    }
    ++open;
    auto token = std::shared_ptr<void>(nullptr, [self = shared_from_this()](void*) { --self->open; });
    if (transport.context() == nullptr)
      return handlers.accepted(std::make_shared<StreamConnection<PlainStream>>(std::move(socket), std::move(token)));
    ++handshakes;
    auto done = [self = shared_from_this(), address](ConnectionPtr connection, const std::string& reason) {
      --self->handshakes;
      if (self->closed) return;
      if (connection)
        self->handlers.accepted(std::move(connection));
      else
        self->handlers.failed(address, reason);
      self->take_next();
    };
    auto handshake = std::make_shared<Handshake>(std::move(socket), transport, std::move(token), std::move(done));
    shaking.push_back(handshake);
    handshake->start(limits.handshake);
  }

  void close() {
    closed = true;
    std::error_code ignored;
    acceptor.close(ignored);
    pause.cancel();
    for (const auto& one : shaking)
      if (const auto handshake = one.lock()) handshake->abandon();
  }

  tcp::acceptor acceptor;
  asio::steady_timer pause;
  Transport transport;
  Limits limits;
  Handlers handlers;
  std::size_t open = 0;
  std::size_t handshakes = 0;
  std::vector<std::weak_ptr<Handshake>> shaking;
  bool taking = false;
  bool closed = false;
};

Listener::Listener(asio::io_context& io, const Endpoint& address, Transport transport, const Limits& limits,
                   Handlers handlers)
    : impl_(std::make_shared<Impl>(io, std::move(transport), limits, std::move(handlers))) {
  const auto fail = [&](const std::error_code& error) {
    return failure("cannot listen at '" + address.text() + "': " + error.message() +
                   "; --listen takes a free port of this machine, or 0 for any");
  };
  std::error_code error;
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, error);
  if (error || found.empty()) throw fail(error);
  const tcp::endpoint endpoint = found.begin()->endpoint();
  auto& acceptor = impl_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error) throw fail(error);
  impl_->take_next();
}

Listener::~Listener() { close(); }

std::uint16_t Listener::port() const { return impl_->acceptor.local_endpoint().port(); }

void Listener::close() { impl_->close(); }

void connect(asio::io_context& io, const Endpoint& address, Transport transport, milliseconds longest,
             std::function<void(ConnectionPtr, const std::string& reason)> connected) {
  // Keeps all of a call together until it has come to its end.
  struct Call : std::enable_shared_from_this<Call> {
    Call(asio::io_context& io) : resolver(io), socket(io), timer(io) {}
    void fail(const std::error_code& error) {
      timer.cancel();
      connected(nullptr, late ? "no answer" : error.message());
    }
    tcp::resolver resolver;
    tcp::socket socket;
    asio::steady_timer timer;
    bool late = false;
    std::function<void(ConnectionPtr, const std::string&)> connected;
  };
  auto call = std::make_shared<Call>(io);
  call->connected = std::move(connected);
  call->timer.expires_after(longest);
  call->timer.async_wait([call](std::error_code error) {
    if (error) return;
    call->late = true;
    std::error_code ignored;
    call->resolver.cancel();
    call->socket.close(ignored);
  });
  call->resolver.async_resolve(
      address.host, std::to_string(address.port),
      [call, transport, longest](std::error_code error, const tcp::resolver::results_type& found) {
        if (error || call->late) return call->fail(error);
        asio::async_connect(call->socket, found, [call, transport, longest](std::error_code failed, const tcp::endpoint&) {
          if (failed || call->late) return call->fail(failed);
          call->timer.cancel();
          if (transport.context() == nullptr)
            return call->connected(std::make_shared<StreamConnection<PlainStream>>(std::move(call->socket), nullptr), {});
          std::make_shared<Handshake>(std::move(call->socket), transport, nullptr, call->connected)->start(longest);
        });
      });
}

}  // namespace fedstride
