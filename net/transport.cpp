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

void Transport::Context::trust(const std::filesystem::path& authorities) {
  X509_STORE* store = SSL_CTX_get_cert_store(ssl.native_handle());
  for (const CertificateHandle& authority : read_authorities(authorities)) X509_STORE_add_cert(store, authority.get());
}

PeerCertificate peer_of(SSL* ssl) {
  const CertificateHandle certificate(SSL_get1_peer_certificate(ssl));
  return certificate ? facts_of(certificate.get()) : PeerCertificate{};
}

}  // namespace fedstride
