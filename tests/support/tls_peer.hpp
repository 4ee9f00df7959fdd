#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sim/net/certificates.hpp"
#include "sim/net/messages.hpp"
#include "tests/support/sockets.hpp"

namespace fedstride::test {

/// One end of a TLS connection that believes anybody and shows what it likes.
class TlsPeer {
 public:
  enum class Side { client, server };
  struct Rules {
    Side side = Side::client;
    TlsFiles files = {};  ///< its certificate and key; none without
    int version = TLS1_3_VERSION;
  };

  TlsPeer(Socket socket, const Rules& rules) : socket_(std::move(socket)) {
    context_.reset(SSL_CTX_new(TLS_method()));
    SSL_CTX_set_min_proto_version(context_.get(), rules.version);
    SSL_CTX_set_max_proto_version(context_.get(), rules.version);
    if (!rules.files.certificate.empty()) {
      SSL_CTX_use_certificate_file(context_.get(), rules.files.certificate.c_str(), SSL_FILETYPE_PEM);
      SSL_CTX_use_PrivateKey_file(context_.get(), rules.files.key.c_str(), SSL_FILETYPE_PEM);
    }
    if (rules.side == Side::server) SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_.get());
    const timeval longest{10, 0};  // of a silence: then reading fails, as if the other side had ended
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    shook_ = (rules.side == Side::client ? SSL_connect(ssl_.get()) : SSL_accept(ssl_.get())) == 1;
  }

  /// True if this side's handshake succeeded; under TLS 1.3 a server's verdict on its client comes later.
  bool shook_hands() const { return shook_; }

  bool send(std::string_view bytes) const {
    return shook_ && SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size());
  }
  template <class Message>
  bool say(const Message& message) const {
    return send(*encode(message));
  }
  /// Reads up to the end of the next frame of this kind; false if the other side ends or is silent before.
  bool hear(FrameKind kind) const {
    for (;;) {
      const std::string bytes = receive(kHeaderBytes);
      if (bytes.size() < kHeaderBytes) return false;
      auto header = parse_header(std::span<const char, kHeaderBytes>(bytes.data(), kHeaderBytes));
      if (!header || receive(header->length).size() != header->length) return false;
      if (header->kind == kind) return true;
    }
  }
  /// Tells the other side that nothing more comes.
  void end_sending() const {
    if (shook_) SSL_shutdown(ssl_.get());
    ::shutdown(socket_.get(), SHUT_WR);
  }
  /// Everything that comes until the other side ends.
  std::string rest() const {
    std::string all;
    char bytes[4096];
    for (int size = 0; shook_ && (size = SSL_read(ssl_.get(), bytes, sizeof bytes)) > 0;)
      all.append(bytes, static_cast<std::size_t>(size));
    return all;
  }

 private:
  std::string receive(std::size_t bytes) const {
    std::string all(bytes, '\0');
    std::size_t done = 0;
    for (int size = 0; shook_ && done < bytes; done += static_cast<std::size_t>(size))
      if ((size = SSL_read(ssl_.get(), all.data() + done, static_cast<int>(bytes - done))) <= 0) break;
    all.resize(done);
    return all;
  }

  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  Socket socket_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  bool shook_ = false;
};

}  // namespace fedstride::test
