#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/hash.hpp"
#include "sim/net/messages.hpp"
#include "tests/support/sockets.hpp"

namespace fedstride::test {

/// One end of a plain connection, driven by hand.
class Peer {
 public:
  explicit Peer(Socket socket) : socket_(std::move(socket)) {}

  bool send(std::string_view bytes) const { return send_all(socket_.get(), bytes); }
  template <class Message>
  bool say(const Message& message) const {
    return send(*encode(message));
  }

  void hang_up() { socket_ = Socket(); }

  /// A frame as it came.
  struct Whole {
    FrameKind kind = FrameKind::heartbeat;
    std::string body;
  };
  /// The next frame that is not a heartbeat; nothing if the other side has ended the connection.
  std::optional<Whole> next() const {
    for (;;) {
      const std::string bytes = receive(socket_.get(), kHeaderBytes);
      if (bytes.size() < kHeaderBytes) return std::nullopt;
      auto header = parse_header(std::span<const char, kHeaderBytes>(bytes.data(), kHeaderBytes));
      if (!header) return std::nullopt;
      std::string body = receive(socket_.get(), header->length);
      if (!is_whole(*header, body)) return std::nullopt;
      if (header->kind != FrameKind::heartbeat) return Whole{header->kind, std::move(body)};
    }
  }
  /// The next frame, if it is of this kind.
  template <class Message>
  std::optional<Message> hear() const {
    const auto whole = next();
    if (!whole || whole->kind != Message::kKind) return std::nullopt;
    auto message = decode<Message>(whole->body);
    return message ? std::optional<Message>(*message) : std::nullopt;
  }

 private:
  Socket socket_;
};

/// The first messages of an honest client and its coordinator, for tests that play one of them.
struct Introduction {
  Hello hello;
  Welcome welcome;
  Ready ready;
};

/// A false client as far as ready, and what it was asked.
struct FalseClient {
  Peer peer;
  ModelMessage model;
  Train train;

  FalseClient(std::uint16_t port, const Introduction& known) : peer(calling(port)) {
    peer.say(known.hello);
    peer.hear<Welcome>();
    peer.say(known.ready);
    model = peer.hear<ModelMessage>().value_or(ModelMessage{});
    train = peer.hear<Train>().value_or(Train{});
  }
  /// An update that a coordinator takes: no change.
  UpdateMessage update(const Introduction& known) const {
    UpdateMessage message{.round = train.round, .model_hash = train.model_hash, .report = {}, .change = {}};
    message.report.client = known.hello.client;
    message.report.rows = known.ready.rows;
    message.change = Vector(model.model.size());
    return message;
  }
};

}  // namespace fedstride::test
