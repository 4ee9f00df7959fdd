#include <doctest/doctest.h>
#include <openssl/x509v3.h>

#include <fstream>

#include "net/deny_list.hpp"
#include "net/x509.hpp"
#include "tests/net/certificates.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::certificate_requests_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

constexpr std::chrono::hours kDay{24};

fs::perms mode_of(const fs::path& path) { return fs::status(path).permissions(); }
constexpr fs::perms kOwnerAlone = fs::perms::owner_read | fs::perms::owner_write;

/// An authority in one place, a client in another.
struct TwoPlaces {
  TemporaryFolder folder;
  fs::path authority = folder / "authority";
  fs::path client = folder / "client";
  TwoPlaces() { make_certificates(authority, {.clients = 0}); }
  /// Brings a bundle to the client.
  TlsFiles brought(const fs::path& bundle, ClientId number) const {
    fs::copy_file(bundle, client / bundle.filename(), fs::copy_options::overwrite_existing);
    return client_files_at(client / bundle.filename(), number);
  }
};

}  // namespace

TEST_CASE("a client makes its own key: the request is signed elsewhere, the bundle that comes back is all that is missing") {
  const TwoPlaces places;
  const RequestReport request = make_request(places.client, 3);
  CHECK(mode_of(places.client / "client-3.key") == kOwnerAlone);
  CHECK(read_file(request.request).find("PRIVATE") == std::string::npos);
  const SignReport signed_one = sign_request(places.authority, request.request, 3, {.days = 20});
  CHECK(signed_one.name == "client-3");
  CHECK(signed_one.key == request.key);
  CHECK(request.key.size() == 64);
  CHECK(read_file(signed_one.bundle).find("PRIVATE") == std::string::npos);
  CHECK_FALSE(fs::exists(places.authority / "client-3.key"));
  const TlsFiles files = places.brought(signed_one.bundle, 3);
  CHECK(files.key == places.client / "client-3.key");
  CHECK(refusal(files, "client-3") == "no error");
  CHECK(says(refusal(files, "client-2"), "is that of 'client-3'; it must be that of 'client-2'"));
  // The same key may ask again, and the authority's folder goes on as it was.
  CHECK(make_request(places.client, 3).key == request.key);
  CHECK(sign_request(places.authority, request.request, {}, {}).key == request.key);
  const CertificateReport more = make_certificates(places.authority, {.clients = 4});
  CHECK(more.made == 3);
  CHECK(more.kept == 3);
  CHECK_FALSE(fs::exists(places.authority / "client-3.key"));
}

TEST_CASE("a request that is not a client's, another client's, changed, or of a second key for a name is not signed") {
  const TwoPlaces places;
  const auto refused = [&](const fs::path& file, std::optional<ClientId> client = {}) {
    return failure_of([&] { sign_request(places.authority, file, client, {}); });
  };
  const fs::path good = make_request(places.client, 1).request;
  CHECK(says(refused(good, 2), "is for 'client-1', not for 'client-2'"));
  const KeyHandle key = new_key();
  for (const char* name : {"coordinator", "client-", "client-01", "client-1x", "client--1", "client-100000", "\x1b[1m"}) {
    CAPTURE(name);
    std::ofstream(places.folder / "other.csr") << request_for(name, key.get());
    CHECK(says(refused(places.folder / "other.csr"), "only clients' are signed: client-0, client-1, ..."));
  }
  std::string bytes = read_file(good);
  bytes[bytes.size() / 2] = bytes[bytes.size() / 2] == 'A' ? 'B' : 'A';
  std::ofstream(places.folder / "bent.csr") << bytes;
  CHECK(says(refused(places.folder / "bent.csr"), "is not a request in PEM that its own key signed, or is damaged"));
  const KeyHandle large(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-384"));
  std::ofstream(places.folder / "large.csr") << request_for("client-1", large.get());
  CHECK(says(refused(places.folder / "large.csr"), "is not on the curve P-256"));
  CHECK(refused(good) == "no error");
  std::ofstream(places.folder / "second.csr") << request_for("client-1", key.get());
  CHECK(says(refused(places.folder / "second.csr"), "'client-1' has a certificate of another key"));
  fs::remove(places.authority / "client-1.pem");
  CHECK(refused(places.folder / "second.csr") == "no error");
}

TEST_CASE("a bundle with its key is one file, its owner's alone") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 2, .bundles = true});
  for (ClientId client = 0; client < 2; ++client) {
    const fs::path bundle = folder.path() / (client_name(client) + ".bundle.pem");
    CHECK(mode_of(bundle) == kOwnerAlone);
    const TlsFiles files = client_files_at(bundle, client);
    CHECK(files.key == bundle);
    CHECK(refusal(files, client_name(client)) == "no error");
    fs::permissions(bundle, fs::perms::group_read, fs::perm_options::add);
    CHECK(says(refusal(files, client_name(client)), "is open to other users"));
  }
  CHECK_FALSE(fs::exists(folder.path() / "coordinator.bundle.pem"));
  CHECK(client_files_at(folder.path(), 1).certificate == folder.path() / "client-1.pem");
}

TEST_CASE("an old authority and its successor overlap: each party is renewed when it likes, and all are believed meanwhile") {
  const TwoPlaces places;
  const auto then = system_clock::now() - kDay * 300;
  fs::remove_all(places.authority);
  make_certificates(places.authority, {.clients = 1, .days = 320, .now = then});
  const fs::path request = make_request(places.client, 1).request;
  const auto bundle = [&] { return places.authority / "client-1.bundle.pem"; };
  sign_request(places.authority, request, 1, {.days = 320, .now = then});
  const TlsFiles before = places.brought(bundle(), 1);
  const std::string old_bundle = read_file(bundle());

  renew_certificate(places.authority, "authority", {.days = 365});
  CHECK(read_authorities(places.authority / "authority.pem").size() == 2);
  CHECK(mode_of(places.authority / "authority.key") == kOwnerAlone);
  // Everything from before is still believed, by those who have both authorities.
  CHECK(refusal(coordinator_files(places.authority), kCoordinatorName) == "no error");
  CHECK(refusal(client_files(places.authority, 0), "client-0") == "no error");
  CHECK(refusal(before, "client-1") == "no error");
  CHECK(make_certificates(places.authority, {.clients = 2}).made == 0);

  // A client's new certificate is of the new authority; with the old one alone it would not be believed.
  renew_certificate(places.authority, "client-1", {});
  const TlsFiles after = places.brought(bundle(), 1);
  CHECK(refusal(after, "client-1") == "no error");
  CHECK(expires_on(after, "client-1") > expires_on(coordinator_files(places.authority), kCoordinatorName) + 200 * 86400);
  std::ofstream(places.folder / "old.pem") << old_bundle;
  CHECK(says(refusal({places.folder / "old.pem", after.certificate, after.key}, "client-1"), "is not one that the authority of"));
  // The coordinator's comes last; the old client's file believes it then no more, the new one does.
  renew_certificate(places.authority, "coordinator", {});
  TlsFiles coordinator = coordinator_files(places.authority);
  CHECK(refusal(coordinator, kCoordinatorName) == "no error");
  coordinator.authority = after.authority;
  CHECK(refusal(coordinator, kCoordinatorName) == "no error");

  // Once the old one has expired it leaves the file.
  renew_certificate(places.authority, "authority", {.now = system_clock::now() + kDay * 30});
  CHECK(read_authorities(places.authority / "authority.pem").size() == 2);
}

TEST_CASE("a renewal that was broken off between its two files leaves an authority that works") {
  const TwoPlaces places;
  const std::string key = read_file(places.authority / "authority.key");
  renew_certificate(places.authority, "authority", {});
  std::ofstream(places.authority / "authority.key") << key;
  CHECK(make_certificates(places.authority, {.clients = 2}).made == 2);
  CHECK(refusal(client_files(places.authority, 1), "client-1") == "no error");
  renew_certificate(places.authority, "authority", {});
  CHECK(refusal(client_files(places.authority, 1), "client-1") == "no error");
}

TEST_CASE("expiry is of the certificate or the authority behind it, whichever is first, and told thirty days before") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 1, .days = 10});
  const std::time_t now = std::time(nullptr);
  const std::time_t end = expires_on(client_files(folder.path(), 0), "client-0");
  CHECK(std::abs(end - (now + 10 * 86400)) < 60);
  CHECK(expiry_warning("it", 0, now).empty());
  CHECK(expiry_warning("it", now + 30 * 86400, now).empty());
  CHECK(expiry_warning("it", now + 30 * 86400 - 1, now).find(", in 29 days; ") != std::string::npos);
  CHECK(expiry_warning("it", now + 86400, now).find(", in 1 day; ") != std::string::npos);
  CHECK(expiry_warning("it", now + 5, now).find(", in less than a day; ") != std::string::npos);
  CHECK(expiry_warning("it", now, now).starts_with("it expired on 20"));
}

TEST_CASE("a list denies by name, serial number or fingerprint, and nothing else; a line with an error is named") {
  const TemporaryFolder folder;
  const fs::path file = folder / "denied";
  const PeerCertificate one{.name = "client-3", .serial = "0a1b", .fingerprint = std::string(64, 'c'), .expires = 1};
  const auto entry = [&](const std::string& text) {
    std::ofstream(file) << text;
    return DenyList::read(file).entry_for(one);
  };
  CHECK(entry("").empty());
  CHECK(entry("# client-3\n\n").empty());
  CHECK(entry("client-30\nclient-2\nserial 0a1b2c\n").empty());
  CHECK(entry("  client-3  # left in May\r\n") == "client-3");
  CHECK(entry("serial 0A:1B") == "serial 0a1b");
  CHECK(entry("fingerprint " + std::string(64, 'C')) == "fingerprint " + std::string(64, 'c'));
  CHECK(DenyList().entry_for(one).empty());
  for (const char* line :
       {"coordinator", "client-", "client-x", "client-3 client-4", "serial", "serial xyz", "fingerprint 12", "0a1b"}) {
    CAPTURE(line);
    CHECK(says(failure_of([&] { entry("client-1\n" + std::string(line) + "\n"); }), "denied', line 2: valid are 'client-K'"));
  }
}

TEST_CASE("what a list is written from is what OpenSSL shows of a certificate") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 1});
  const auto certificate = read_certificate(folder.path() / "client-0.pem");
  const PeerCertificate facts = facts_of(certificate.get());
  CHECK(facts.name == "client-0");
  CHECK(facts.expires == expiry(certificate.get()));
  BIGNUM* serial = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate.get()), nullptr);
  BIGNUM* said = nullptr;
  BN_hex2bn(&said, facts.serial.c_str());
  CHECK(BN_cmp(serial, said) == 0);
  BN_free(serial);
  BN_free(said);
  CHECK(facts.fingerprint.size() == 64);
}

}  // namespace fedstride::test::certificate_requests_test
