#include <algorithm>
#include <list>

#include "core/error.hpp"
#include "sim/net/stream_connection.hpp"
#include "sim/net/waiting_room.hpp"
#include "sim/net/x509.hpp"

namespace fedstride {
namespace {

constexpr milliseconds kMinHandshakeAge{1000};  // minimum age of a handshake before it is dropped in favor of another

}  // namespace

/// A TLS handshake in progress, with a time limit. Its result is the connection, or the reason for the failure.
class Handshake : public std::enable_shared_from_this<Handshake> {
 public:
  using Done = std::function<void(const Handshake* which, ConnectionPtr, const std::string& reason)>;

  /// `first` holds the bytes already read from the socket. `take_token` returns a token that the connection holds until it ends.
  Handshake(tcp::socket socket, Transport transport, std::string first, std::function<std::shared_ptr<void>()> take_token,
            Done done)
      : transport_(std::move(transport)),
        stream_(std::move(socket), transport_.context()->ssl),
        timer_(stream_.get_executor()),
        first_(std::move(first)),
        take_token_(std::move(take_token)),
        done_(std::move(done)) {}

  void start(milliseconds longest) {
    after(timer_, longest, [self = shared_from_this()] { self->abandon(); });
    if (transport_.context()->side == Transport::Side::client)
      stream_.async_handshake(asio::ssl::stream_base::client,
                              [self = shared_from_this()](std::error_code error) { self->finish(error); });
    else
      stream_.async_handshake(asio::ssl::stream_base::server, asio::buffer(first_),
                              [self = shared_from_this()](std::error_code error, std::size_t) { self->finish(error); });
  }

  Clock::time_point since() const { return since_; }
  void abandon() { close_quietly(stream_.lowest_layer()); }

 private:
  void finish(std::error_code error) {
    const bool too_late = !stream_.lowest_layer().is_open();
    timer_.cancel();
    if (!error) {
      auto connection = std::make_shared<StreamConnection<TlsStream>>(std::move(stream_), take_token_ ? take_token_() : nullptr);
      return done_(this, std::move(connection), {});
    }
    const long verdict = SSL_get_verify_result(stream_.native_handle());
    std::string reason = too_late ? "its handshake took too long"
                         : verdict != X509_V_OK
                             ? std::string("its certificate was rejected: ") + X509_verify_cert_error_string(verdict)
                             : "its TLS 1.3 handshake failed: " + reason_of(error);
    abandon();
    done_(this, nullptr, reason);
  }

  Transport transport_;
  TlsStream stream_;
  asio::steady_timer timer_;
  std::string first_;
  std::function<std::shared_ptr<void>()> take_token_;
  Done done_;
  Clock::time_point since_ = Clock::now();
};

/// A TLS connection passes through three stages: waiting for its first bytes, the handshake, and open. Each stage has its own
/// limit, so that unauthenticated connections cannot exhaust what later stages need.
struct Listener::Impl : std::enable_shared_from_this<Listener::Impl> {
  Impl(asio::io_context& io_context, Transport chosen_transport, const Limits& connection_limits, Handlers event_handlers)
      : io(io_context),
        acceptor(io_context),
        accept_timer(io_context),
        handshake_timer(io_context),
        transport(std::move(chosen_transport)),
        limits(connection_limits),
        handlers(std::move(event_handlers)) {}

  void start() {
    if (transport.context() != nullptr)
      pending = std::make_shared<PendingConnections>(
          io, PendingConnections::Limits{.connections = limits.waiting, .longest = limits.handshake},
          PendingConnections::Events{[this] { start_handshakes(); },
                                     [this](const std::string& address, const std::string& reason, std::uint64_t connections) {
                                       handlers.failed(address, reason, connections);
                                     }});
    accept_next();
  }

  void accept_next() {
    if (accepting || closed) return;
    if (pending)
      if (const milliseconds wait = pending->time_until_free(); wait > milliseconds(0)) return accept_later(wait);
    accepting = true;
    acceptor.async_accept([self = shared_from_this()](std::error_code error, tcp::socket socket) {
      self->accepting = false;
      if (self->closed) return;
      if (error) {  // most likely out of descriptors: do not retry immediately
        if (self->pending) self->pending->evict_one();
        return self->accept_later(milliseconds(200));
      }
      self->accept_socket(std::move(socket));
      self->accept_next();
    });
  }

  void accept_later(milliseconds wait) {
    after(accept_timer, wait, [self = shared_from_this()] { self->accept_next(); });
  }

  void accept_socket(tcp::socket socket) {
    if (pending) return pending->add(std::move(socket));
    const std::string address = address_of(socket);
    if (open >= limits.connections) return handlers.failed(address, too_many(), 1);
    handlers.accepted(std::make_shared<StreamConnection<PlainStream>>(std::move(socket), take_token()));
  }

  std::string too_many() const { return "there are already " + std::to_string(open) + " connections; no more are accepted"; }

  std::shared_ptr<void> take_token() {
    ++open;
    return {nullptr, [self = shared_from_this()](void*) { --self->open; }};
  }

  std::size_t count_from(Source source) const {
    return static_cast<std::size_t>(std::ranges::count(handshakes_in_progress, source, &PendingHandshake::source));
  }

  /// Starts as many handshakes as the limits allow, at most half of them from one source. If the source or the listener is at its
  /// limit, an old handshake is dropped, since an honest one does not take this long.
  void start_handshakes() {
    while (!closed) {
      auto candidate = pending->next([&](Source source) {
        const bool at_its_limit = count_from(source) >= std::max<std::size_t>(limits.handshakes / 2, 1);
        if (!at_its_limit && handshakes_in_progress.size() < limits.handshakes) return true;
        return drop_oldest(at_its_limit ? source : largest_source());
      });
      if (!candidate) break;
      begin(std::move(*candidate));
    }
    if (closed || !pending->has_ready()) return;
    after(handshake_timer, kMinHandshakeAge / 4, [self = shared_from_this()] { self->start_handshakes(); });
  }

  Source largest_source() const {
    return std::ranges::max_element(handshakes_in_progress, {},
                                    [&](const PendingHandshake& one) { return count_from(one.source); })
        ->source;
  }

  bool drop_oldest(Source source) {
    const auto oldest = std::ranges::find(handshakes_in_progress, source, &PendingHandshake::source);
    if (oldest == handshakes_in_progress.end() || Clock::now() - oldest->handshake->since() < kMinHandshakeAge) return false;
    const auto handshake = oldest->handshake;
    handshakes_in_progress.erase(oldest);
    handshake->abandon();
    return true;
  }

  void begin(PendingConnections::Candidate candidate) {
    const std::string address = address_of(candidate.socket);
    auto done = [self = shared_from_this(), address](const Handshake* which, ConnectionPtr connection,
                                                     const std::string& reason) {
      std::erase_if(self->handshakes_in_progress, [&](const PendingHandshake& one) { return one.handshake.get() == which; });
      if (self->closed) return;
      if (!connection) {
        self->handlers.failed(address, reason, 1);
      } else if (self->open > self->limits.connections) {
        connection->end({}, false);
        connection = nullptr;
        self->handlers.failed(address, self->too_many(), 1);
      } else {
        self->handlers.accepted(std::move(connection));
      }
      self->start_handshakes();
    };
    auto handshake = std::make_shared<Handshake>(
        std::move(candidate.socket), transport, std::move(candidate.first_record),
        [self = shared_from_this()] { return self->take_token(); }, std::move(done));
    handshakes_in_progress.push_back({candidate.source, handshake});
    handshake->start(limits.handshake);
  }

  void close() {
    closed = true;
    close_quietly(acceptor);
    accept_timer.cancel();
    handshake_timer.cancel();
    if (pending) pending->close();
    for (const PendingHandshake& one : std::list(handshakes_in_progress)) one.handshake->abandon();
  }

  /// A handshake in progress and its source.
  struct PendingHandshake {
    Source source;
    std::shared_ptr<Handshake> handshake;
  };

  asio::io_context& io;
  tcp::acceptor acceptor;
  asio::steady_timer accept_timer;
  asio::steady_timer handshake_timer;
  Transport transport;
  Limits limits;
  Handlers handlers;
  std::shared_ptr<PendingConnections> pending;  ///< null in plain mode
  std::size_t open = 0;
  std::list<PendingHandshake> handshakes_in_progress;  ///< oldest first
  bool accepting = false;
  bool closed = false;
};

Listener::Listener(asio::io_context& io, const Endpoint& address, Transport transport, const Limits& limits, Handlers handlers)
    : impl_(std::make_shared<Impl>(io, std::move(transport), limits, std::move(handlers))) {
  const auto fail = [&](const std::error_code& error) {
    const std::string why = "cannot listen on '" + address.text() + "': " + error.message() +
                            "; --listen needs a free port on this machine, or port 0 for any free port";
    return error == std::errc::address_in_use ? busy(why) : failure(why);
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
  impl_->start();
}

Listener::~Listener() { close(); }

std::uint16_t Listener::port() const { return impl_->acceptor.local_endpoint().port(); }

void Listener::renew(Transport transport) { impl_->transport = std::move(transport); }

void Listener::close() { impl_->close(); }

void connect(asio::io_context& io, const Endpoint& address, Transport transport, milliseconds longest,
             std::function<void(ConnectionPtr, const std::string& reason)> connected) {
  // One call of connect(): keeps alive everything the call needs until it ends.
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
  after(call->timer, longest, [call] {
    call->late = true;
    call->resolver.cancel();
    close_quietly(call->socket);
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
          std::make_shared<Handshake>(std::move(call->socket), transport, std::string(), nullptr,
                                      [call](const Handshake*, ConnectionPtr connection, const std::string& reason) {
                                        call->connected(std::move(connection), reason);
                                      })
              ->start(longest);
        });
      });
}

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

void Transport::Context::trust(const std::filesystem::path& authorities) {
  X509_STORE* store = SSL_CTX_get_cert_store(ssl.native_handle());
  for (const CertificateHandle& authority : read_authorities(authorities)) X509_STORE_add_cert(store, authority.get());
}

PeerCertificate peer_of(SSL* ssl) {
  const CertificateHandle certificate(SSL_get1_peer_certificate(ssl));
  return certificate ? facts_of(certificate.get()) : PeerCertificate{};
}

}  // namespace fedstride
