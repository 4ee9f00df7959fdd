#include "core/error.hpp"
#include "net/stream_connection.hpp"

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
  X509* certificate = SSL_get1_peer_certificate(ssl);
  if (certificate == nullptr) return {};
  char name[256] = {};
  const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  X509_free(certificate);
  return size > 0 ? std::string(name, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace fedstride
