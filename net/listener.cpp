#include <vector>

#include "core/error.hpp"
#include "net/stream_connection.hpp"

namespace fedstride {
namespace {

constexpr milliseconds kYoung{1000};  // age of a handshake below which it is not dropped for another

}  // namespace

/// A TLS handshake in progress, with its time limit; its result is the connection, or the reason why there is none.
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
    const auto side =
        transport_.context()->side == Transport::Side::server ? asio::ssl::stream_base::server : asio::ssl::stream_base::client;
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
    std::string reason = too_late ? "its handshake took too long"
                         : verdict != X509_V_OK
                             ? std::string("its certificate is not valid here: ") + X509_verify_cert_error_string(verdict)
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
      if (error) {  // out of descriptors, most likely: do not retry at once
        self->pause.expires_after(milliseconds(200));
        self->pause.async_wait([self](std::error_code) { self->take_next(); });
        return;
      }
      self->take(std::move(socket));
      self->take_next();
    });
  }

  /// Peers that connect and send nothing must not keep others out: an honest handshake does not take this long.
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

Listener::Listener(asio::io_context& io, const Endpoint& address, Transport transport, const Limits& limits, Handlers handlers)
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
