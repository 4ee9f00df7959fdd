#include <algorithm>
#include <list>

#include "core/error.hpp"
#include "net/stream_connection.hpp"
#include "net/waiting_room.hpp"

namespace fedstride {
namespace {

constexpr milliseconds kYoung{1000};  // age of a handshake below which it is not dropped for another

}  // namespace

/// A TLS handshake in progress, with its time limit; its result is the connection, or the reason why there is none.
class Handshake : public std::enable_shared_from_this<Handshake> {
 public:
  using Done = std::function<void(const Handshake* which, ConnectionPtr, const std::string& reason)>;

  /// `first` was read from the socket already. `take_token` gives what the connection holds as long as it is there.
  Handshake(tcp::socket socket, Transport transport, std::string first, std::function<std::shared_ptr<void>()> take_token,
            Done done)
      : transport_(std::move(transport)),
        stream_(std::move(socket), transport_.context()->ssl),
        timer_(stream_.get_executor()),
        first_(std::move(first)),
        take_token_(std::move(take_token)),
        done_(std::move(done)) {}

  void start(milliseconds longest) {
    timer_.expires_after(longest);
    timer_.async_wait([self = shared_from_this()](std::error_code error) {
      std::error_code ignored;
      if (!error) self->stream_.lowest_layer().close(ignored);
    });
    if (transport_.context()->side == Transport::Side::client)
      stream_.async_handshake(asio::ssl::stream_base::client,
                              [self = shared_from_this()](std::error_code error) { self->finish(error); });
    else
      stream_.async_handshake(asio::ssl::stream_base::server, asio::buffer(first_),
                              [self = shared_from_this()](std::error_code error, std::size_t) { self->finish(error); });
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
      auto connection = std::make_shared<StreamConnection<TlsStream>>(std::move(stream_), take_token_ ? take_token_() : nullptr);
      return done_(this, std::move(connection), {});
    }
    const long verdict = SSL_get_verify_result(stream_.native_handle());
    std::string reason = too_late ? "its handshake took too long"
                         : verdict != X509_V_OK
                             ? std::string("its certificate is not valid here: ") + X509_verify_cert_error_string(verdict)
                             : "no TLS 1.3 handshake with it: " + words(error);
    std::error_code ignored;
    stream_.lowest_layer().close(ignored);
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

/// Under TLS a connection goes through three places, each with limits of its own, so that none that has not proved itself
/// takes what those behind it need: the waiting room until its first bytes are there, a handshake, and then it is open.
struct Listener::Impl : std::enable_shared_from_this<Listener::Impl> {
  Impl(asio::io_context& io_context, Transport by, const Limits& at_most, Handlers told)
      : io(io_context),
        acceptor(io_context),
        pause(io_context),
        another_look(io_context),
        transport(std::move(by)),
        limits(at_most),
        handlers(std::move(told)) {}

  void start() {
    if (transport.context() != nullptr)
      room = std::make_shared<WaitingRoom>(
          io, WaitingRoom::Limits{.places = limits.waiting, .longest = limits.handshake},
          WaitingRoom::Events{[this] { shake_hands(); },
                              [this](const std::string& address, const std::string& reason, std::uint64_t connections) {
                                handlers.failed(address, reason, connections);
                              }});
    take_next();
  }

  void take_next() {
    if (taking || closed) return;
    if (room)
      if (const milliseconds wait = room->until_room(); wait > milliseconds(0)) return take_later(wait);
    taking = true;
    acceptor.async_accept([self = shared_from_this()](std::error_code error, tcp::socket socket) {
      self->taking = false;
      if (self->closed) return;
      if (error) {  // out of descriptors, most likely: do not retry at once
        if (self->room) self->room->give_one_up();
        return self->take_later(milliseconds(200));
      }
      self->take(std::move(socket));
      self->take_next();
    });
  }

  void take_later(milliseconds wait) {
    pause.expires_after(wait);
    pause.async_wait([self = shared_from_this()](std::error_code error) {
      if (!error) self->take_next();
    });
  }

  void take(tcp::socket socket) {
    if (room) return room->enter(std::move(socket));
    std::error_code ignored;
    const std::string address = text_of(socket.remote_endpoint(ignored));
    if (open >= limits.connections) return handlers.failed(address, too_many(), 1);
    handlers.accepted(std::make_shared<StreamConnection<PlainStream>>(std::move(socket), take_token()));
  }

  std::string too_many() const { return "there are " + std::to_string(open) + " connections already, no more are taken"; }

  std::shared_ptr<void> take_token() {
    ++open;
    return {nullptr, [self = shared_from_this()](void*) { --self->open; }};
  }

  std::size_t held_by(Source source) const {
    return static_cast<std::size_t>(std::ranges::count(shaking, source, &Shaking::source));
  }

  /// Begins as many handshakes as there may be. A source has half of them at most; where it has that, or where there are no
  /// more, an old one is given up, since an honest handshake does not take this long.
  void shake_hands() {
    while (!closed) {
      auto caller = room->next([&](Source source) {
        const bool has_its_share = held_by(source) >= std::max<std::size_t>(limits.handshakes / 2, 1);
        if (!has_its_share && shaking.size() < limits.handshakes) return true;
        return drop_old(has_its_share ? source : greediest());
      });
      if (!caller) break;
      begin(std::move(*caller));
    }
    if (closed || !room->anybody_ready()) return;
    another_look.expires_after(kYoung / 4);
    another_look.async_wait([self = shared_from_this()](std::error_code error) {
      if (!error) self->shake_hands();
    });
  }

  Source greediest() const {
    return std::ranges::max_element(shaking, {}, [&](const Shaking& one) { return held_by(one.source); })->source;
  }

  bool drop_old(Source source) {
    const auto oldest = std::ranges::find(shaking, source, &Shaking::source);
    if (oldest == shaking.end() || Clock::now() - oldest->handshake->since() < kYoung) return false;
    const auto handshake = oldest->handshake;
    shaking.erase(oldest);
    handshake->abandon();
    return true;
  }

  void begin(WaitingRoom::Caller caller) {
    std::error_code ignored;
    const std::string address = text_of(caller.socket.remote_endpoint(ignored));
    auto done = [self = shared_from_this(), address](const Handshake* which, ConnectionPtr connection,
                                                     const std::string& reason) {
      std::erase_if(self->shaking, [&](const Shaking& one) { return one.handshake.get() == which; });
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
      self->shake_hands();
    };
    auto handshake = std::make_shared<Handshake>(
        std::move(caller.socket), transport, std::move(caller.first_record),
        [self = shared_from_this()] { return self->take_token(); }, std::move(done));
    shaking.push_back({caller.source, handshake});
    handshake->start(limits.handshake);
  }

  void close() {
    closed = true;
    std::error_code ignored;
    acceptor.close(ignored);
    pause.cancel();
    another_look.cancel();
    if (room) room->close();
    for (const Shaking& one : std::list(shaking)) one.handshake->abandon();
  }

  /// A handshake in progress.
  struct Shaking {
    Source source;
    std::shared_ptr<Handshake> handshake;
  };

  asio::io_context& io;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  asio::steady_timer another_look;
  Transport transport;
  Limits limits;
  Handlers handlers;
  std::shared_ptr<WaitingRoom> room;  ///< none in plain mode
  std::size_t open = 0;
  std::list<Shaking> shaking;  ///< in order of their beginning
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
  impl_->start();
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
          std::make_shared<Handshake>(std::move(call->socket), transport, std::string(), nullptr,
                                      [call](const Handshake*, ConnectionPtr connection, const std::string& reason) {
                                        call->connected(std::move(connection), reason);
                                      })
              ->start(longest);
        });
      });
}

}  // namespace fedstride
