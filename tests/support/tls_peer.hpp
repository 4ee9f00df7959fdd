#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

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
    shook_ = (rules.side == Side::client ? SSL_connect(ssl_.get()) : SSL_accept(ssl_.get())) == 1;
  }

  /// True if this side's handshake succeeded; under TLS 1.3 a server's verdict on its client comes later.
  bool shook_hands() const { return shook_; }

  template <class Message>
  void say(const Message& message) const {
    const Frame frame = encode(message);
    if (shook_) SSL_write(ssl_.get(), frame->data(), static_cast<int>(frame->size()));
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
