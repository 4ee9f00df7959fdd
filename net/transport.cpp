#include "core/error.hpp"
#include "net/stream_connection.hpp"
#include "net/x509.hpp"

namespace fedstride {

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

std::string common_name(SSL* ssl) {
  const CertificateHandle certificate(SSL_get1_peer_certificate(ssl));
  return certificate ? common_name(certificate.get()) : std::string();
}

}  // namespace fedstride
