#include <doctest/doctest.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <fstream>

#include "sim/net/deny_list.hpp"
#include "sim/net/x509.hpp"
#include "tests/sim/net/certificates.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::certificate_requests_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

constexpr std::chrono::hours kDay{24};

fs::perms mode_of(const fs::path& path) { return fs::status(path).permissions(); }
constexpr fs::perms kOwnerOnly = fs::perms::owner_read | fs::perms::owner_write;

/// An authority and a client in separate folders.
struct TwoPlaces {
  TemporaryFolder folder;
  fs::path authority = folder / "authority";
  fs::path client = folder / "client";
  TwoPlaces() { make_certificates(authority, {.clients = 0}); }
  /// Copies a bundle to the client.
  TlsFiles brought(const fs::path& bundle, ClientId number) const {
    fs::copy_file(bundle, client / bundle.filename(), fs::copy_options::overwrite_existing);
    return client_files_at(client / bundle.filename(), number);
  }
};

}  // namespace

TEST_CASE("a client makes its own key; its request is signed elsewhere, and the returned bundle completes its files") {
  const TwoPlaces places;
  const RequestReport request = make_request(places.client, 3);
  CHECK(mode_of(places.client / "client-3.key") == kOwnerOnly);
  CHECK(read_file(request.request).find("PRIVATE") == std::string::npos);
  const SignReport signed_one = sign_request(places.authority, request.request, 3, {.days = 20});
  CHECK(signed_one.name == "client-3");
  CHECK(signed_one.key == request.key);
  CHECK(request.key.size() == 64);
  CHECK(read_file(signed_one.bundle).find("PRIVATE") == std::string::npos);
  CHECK_FALSE(fs::exists(places.authority / "client-3.key"));
  const TlsFiles files = places.brought(signed_one.bundle, 3);
  CHECK(files.key == places.client / "client-3.key");
  CHECK_NOTHROW(check_files(files, "client-3"));
  CHECK_FAILURE(check_files(files, "client-2"), files.certificate.string(), "'client-3'", "'client-2'");
  // The same key may be signed again, and the authority's folder still works.
  CHECK(make_request(places.client, 3).key == request.key);
  CHECK(sign_request(places.authority, request.request, {}, {}).key == request.key);
  const CertificateReport more = make_certificates(places.authority, {.clients = 4});
  CHECK(more.made == 3);
  CHECK(more.kept == 3);
  CHECK_FALSE(fs::exists(places.authority / "client-3.key"));
}

TEST_CASE("a request for another name, another client, a second key, or one that was altered is not signed") {
  const TwoPlaces places;
  const auto sign = [&](const fs::path& file, std::optional<ClientId> client = {}) {
    sign_request(places.authority, file, client, {});
  };
  const fs::path good = make_request(places.client, 1).request;
  CHECK_FAILURE(sign(good, 2), good.string(), "'client-1'", "'client-2'");
  const KeyHandle key = new_key();
  for (const char* name : {"coordinator", "client-", "client-01", "client-1x", "client--1", "client-100000", "\x1b[1m"}) {
    CAPTURE(name);
    const std::string file = places.folder / "other.csr";
    std::ofstream(file) << request_for(name, key.get());
    std::string shown = "'" + std::string(name) + "'";
    std::ranges::replace(shown, '\x1b', '?');
    CHECK_FAILURE(sign(file), file, shown, "client-0");
  }
  std::string bytes = read_file(good);
  bytes[bytes.size() / 2] = bytes[bytes.size() / 2] == 'A' ? 'B' : 'A';
  const std::string bent = places.folder / "bent.csr";
  std::ofstream(bent) << bytes;
  CHECK_FAILURE(sign(bent), bent, "PEM");
  const KeyHandle large(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-384"));
  const std::string large_file = places.folder / "large.csr";
  std::ofstream(large_file) << request_for("client-1", large.get());
  CHECK_FAILURE(sign(large_file), large_file, "P-256");
  CHECK_NOTHROW(sign(good));
  const std::string second = places.folder / "second.csr";
  std::ofstream(second) << request_for("client-1", key.get());
  CHECK_FAILURE(sign(second), "'client-1'", (places.authority / "client-1.pem").string());
  fs::remove(places.authority / "client-1.pem");
  CHECK_NOTHROW(sign(second));
}

TEST_CASE("a bundle with its key is one file, accessible only to its owner") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 2, .bundles = true});
  for (ClientId client = 0; client < 2; ++client) {
    const fs::path bundle = folder.path() / (client_name(client) + ".bundle.pem");
    CHECK(mode_of(bundle) == kOwnerOnly);
    const TlsFiles files = client_files_at(bundle, client);
    CHECK(files.key == bundle);
    CHECK_NOTHROW(check_files(files, client_name(client)));
    fs::permissions(bundle, fs::perms::group_read, fs::perm_options::add);
    CHECK_FAILURE(check_files(files, client_name(client)), "chmod 600 " + bundle.string());
  }
  CHECK_FALSE(fs::exists(folder.path() / "coordinator.bundle.pem"));
  CHECK(client_files_at(folder.path(), 1).certificate == folder.path() / "client-1.pem");
}

TEST_CASE("an old authority and its successor overlap: parties are renewed one at a time, and all stay trusted") {
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
  CHECK(mode_of(places.authority / "authority.key") == kOwnerOnly);
  // Everything issued before is still trusted by parties that have both authorities.
  CHECK_NOTHROW(check_files(coordinator_files(places.authority), kCoordinatorName));
  CHECK_NOTHROW(check_files(client_files(places.authority, 0), "client-0"));
  CHECK_NOTHROW(check_files(before, "client-1"));
  CHECK(make_certificates(places.authority, {.clients = 2}).made == 0);

  // A client's new certificate is from the new authority, and not trusted by a party that has only the old one.
  renew_certificate(places.authority, "client-1", {});
  const TlsFiles after = places.brought(bundle(), 1);
  CHECK_NOTHROW(check_files(after, "client-1"));
  CHECK(expires_on(after, "client-1") > expires_on(coordinator_files(places.authority), kCoordinatorName) + 200 * 86400);
  std::ofstream(places.folder / "old.pem") << old_bundle;
  CHECK_FAILURE(check_files({places.folder / "old.pem", after.certificate, after.key}, "client-1"), after.certificate.string(),
                places.folder / "old.pem");
  // The coordinator is renewed last; then the client's new file trusts it.
  renew_certificate(places.authority, "coordinator", {});
  TlsFiles coordinator = coordinator_files(places.authority);
  CHECK_NOTHROW(check_files(coordinator, kCoordinatorName));
  coordinator.authority = after.authority;
  CHECK_NOTHROW(check_files(coordinator, kCoordinatorName));

  // An expired authority is removed from the file.
  renew_certificate(places.authority, "authority", {.now = system_clock::now() + kDay * 30});
  CHECK(read_authorities(places.authority / "authority.pem").size() == 2);
}

TEST_CASE("a renewal interrupted between its two files leaves a working authority") {
  const TwoPlaces places;
  const std::string key = read_file(places.authority / "authority.key");
  renew_certificate(places.authority, "authority", {});
  std::ofstream(places.authority / "authority.key") << key;
  CHECK(make_certificates(places.authority, {.clients = 2}).made == 2);
  CHECK_NOTHROW(check_files(client_files(places.authority, 1), "client-1"));
  renew_certificate(places.authority, "authority", {});
  CHECK_NOTHROW(check_files(client_files(places.authority, 1), "client-1"));
}

TEST_CASE("expiry is that of the certificate or its authority, whichever is first, and is announced thirty days before") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 1, .days = 10});
  const std::time_t now = std::time(nullptr);
  const std::time_t end = expires_on(client_files(folder.path(), 0), "client-0");
  CHECK(std::abs(end - (now + 10 * 86400)) < 60);
  CHECK(expiry_warning("it", 0, now).empty());
  CHECK(expiry_warning("it", now + 30 * 86400, now).empty());
  CHECK(names(expiry_warning("it", now + 30 * 86400 - 1, now), {"it", "29 days"}));
  CHECK(names(expiry_warning("it", now + 86400, now), {"it", utc_text(now + 86400), "1 day"}));
  CHECK(names(expiry_warning("it", now + 5, now), {"it", "less than a day"}));
  CHECK(names(expiry_warning("it", now, now), {"it", "expired", utc_text(now)}));
}

TEST_CASE("a deny list has names, serial numbers and fingerprints; an invalid line is named") {
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
    CHECK_FAILURE(entry("client-1\n" + std::string(line) + "\n"), file.string(), "line 2", "'client-K'");
  }
}

TEST_CASE("serial number and fingerprint are those that OpenSSL reports") {
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
