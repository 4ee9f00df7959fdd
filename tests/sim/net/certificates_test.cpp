#include "tests/sim/net/certificates.hpp"

#include <openssl/x509v3.h>
#include <sys/file.h>

#include <set>
#include <thread>
#include <vector>

#include "core/descriptor.hpp"
#include "sim/net/x509.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::certificates_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

constexpr std::chrono::hours kDay{24};

/// Verifies with OpenSSL directly, without the code under test.
bool verifies(const TlsFiles& files, int purpose) {
  const auto authority = read_certificate(files.authority);
  const auto certificate = read_certificate(files.certificate);
  X509_STORE* store = X509_STORE_new();
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_add_cert(store, authority.get());
  X509_STORE_CTX_init(context, store, certificate.get(), nullptr);
  X509_STORE_CTX_set_flags(context, X509_V_FLAG_X509_STRICT | X509_V_FLAG_CHECK_SS_SIGNATURE);
  X509_STORE_CTX_set_purpose(context, purpose);
  const bool valid = X509_verify_cert(context) == 1;
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return valid;
}

TEST_CASE("an authority, a coordinator certificate and client certificates, each valid only for its own role") {
  const TemporaryFolder folder;
  const fs::path certs = folder / "new/folder";
  const auto report = make_certificates(certs, {.clients = 3});
  CHECK(report.made == 5);
  CHECK(report.kept == 0);
  const std::set<std::string> expected{"authority.pem", "authority.key", "coordinator.pem", "coordinator.key", "client-0.pem",
                                       "client-0.key",  "client-1.pem",  "client-1.key",    "client-2.pem",    "client-2.key"};
  std::set<std::string> found;
  for (const auto& [name, text] : contents(certs)) found.insert(name);
  CHECK(found == expected);

  const TlsFiles coordinator = coordinator_files(certs);
  CHECK(verifies(coordinator, X509_PURPOSE_SSL_SERVER));
  CHECK_FALSE(verifies(coordinator, X509_PURPOSE_SSL_CLIENT));
  CHECK_NOTHROW(check_files(coordinator, kCoordinatorName));
  CHECK_FAILURE(check_files(coordinator, "client-0"), coordinator.certificate.string(), "client");
  for (ClientId client = 0; client < 3; ++client) {
    const TlsFiles files = client_files(certs, client);
    CHECK(verifies(files, X509_PURPOSE_SSL_CLIENT));
    CHECK_FALSE(verifies(files, X509_PURPOSE_SSL_SERVER));
    CHECK_NOTHROW(check_files(files, client_name(client)));
    CHECK_FAILURE(check_files(files, kCoordinatorName), files.certificate.string(), "coordinator");
  }
  CHECK_FAILURE(check_files(client_files(certs, 2), "client-1"), "'client-2'", "'client-1'");
}

TEST_CASE("certificates are version 3 on P-256, each with its own serial number and key") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 8});
  std::set<std::string> serials;
  std::set<std::string> keys;
  for (ClientId client = 0; client < 8; ++client) {
    const auto certificate = read_certificate(client_files(folder.path(), client).certificate);
    CHECK(X509_get_version(certificate.get()) == X509_VERSION_3);
    char curve[32] = "";
    EVP_PKEY_get_group_name(X509_get0_pubkey(certificate.get()), curve, sizeof curve, nullptr);
    CHECK(std::string(curve) == "prime256v1");
    const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate.get());
    CHECK(ASN1_STRING_length(serial) >= 12);  // 128 random bits: shorter once in 2^32 at most
    serials.insert(
        {reinterpret_cast<const char*>(ASN1_STRING_get0_data(serial)), static_cast<std::size_t>(ASN1_STRING_length(serial))});
    keys.insert(read_file(client_files(folder.path(), client).key));
  }
  CHECK(serials.size() == 8);
  CHECK(keys.size() == 8);
}

TEST_CASE("the authority signs certificates but no further authorities; a client certificate signs nothing") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 1});
  const auto authority = read_certificate(folder / "authority.pem");
  CHECK(X509_check_ca(authority.get()) == 1);
  CHECK(X509_get_pathlen(authority.get()) == 0);
  CHECK(X509_get_key_usage(authority.get()) == KU_KEY_CERT_SIGN);

  const TlsFiles files = client_files(folder.path(), 0);
  const Identity client{read_certificate(files.certificate), read_key(files.key)};
  const auto key = new_key();
  const auto now = std::time(nullptr);
  const auto forged = issue({"coordinator", Role::server, now, now + 1000}, key.get(), &client);
  write_file(folder / "forged.pem", to_pem(forged.get()));
  write_files(folder.path(), std::vector<NewFile>{{"forged.key", to_pem(key.get()), 0600}});
  const std::string forged_file = folder / "forged.pem", forged_key = folder / "forged.key";
  CHECK_FAILURE(check_files({folder / "authority.pem", forged_file, forged_key}, kCoordinatorName), forged_file,
                folder / "authority.pem");
  CHECK_FAILURE(check_files({files.certificate, forged_file, forged_key}, kCoordinatorName), files.certificate.string(),
                "authority");
}

TEST_CASE("a second call issues only what is missing, with the same authority, and replaces no key") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 2});
  auto before = contents(folder.path());
  fs::remove(folder / "client-0.pem");
  fs::remove(folder / "coordinator.key");
  const auto report = make_certificates(folder.path(), {.clients = 4});
  CHECK(report.made == 4);  // client 0, the coordinator, clients 2 and 3
  CHECK(report.kept == 2);  // the authority, client 1
  const auto after = contents(folder.path());
  for (const char* name : {"authority.pem", "authority.key", "client-0.key", "client-1.pem", "client-1.key"})
    CHECK(after.at(name) == before.at(name));
  CHECK(after.at("client-0.pem") != before.at("client-0.pem"));
  CHECK(after.at("coordinator.pem") != before.at("coordinator.pem"));
  CHECK_NOTHROW(check_files(coordinator_files(folder.path()), kCoordinatorName));
  for (ClientId client = 0; client < 4; ++client)
    CHECK_NOTHROW(check_files(client_files(folder.path(), client), client_name(client)));

  const auto third = make_certificates(folder.path(), {.clients = 4});
  CHECK(third.made == 0);
  CHECK(third.kept == 6);
  CHECK(third.expires == report.expires);
  CHECK(contents(folder.path()) == after);
}

TEST_CASE("an authority's key left by a killed process is used, not replaced") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 1});
  const std::string key = read_file(folder / "authority.key");
  for (const char* name : {"authority.pem", "coordinator.pem", "client-0.pem"}) fs::remove(folder / name);
  CHECK(make_certificates(folder.path(), {.clients = 1}).made == 3);
  CHECK(read_file(folder / "authority.key") == key);
  CHECK_NOTHROW(check_files(client_files(folder.path(), 0), "client-0"));
}

TEST_CASE("certificates expire no later than their authority; expired ones are named with the date") {
  const TemporaryFolder folder;
  const auto past = system_clock::now() - 40 * kDay;
  const auto end = utc_text(system_clock::to_time_t(past + 30 * kDay));
  CHECK(make_certificates(folder.path(), {.clients = 1, .days = 30, .now = past}).expires == end);
  const TlsFiles files = client_files(folder.path(), 0);
  CHECK_FAILURE(check_files(files, "client-0"), end, "'fedstride certificates'");
  CHECK_FAILURE(make_certificates(folder.path(), {.clients = 1}), files.authority.string(), end);

  const TemporaryFolder longer;
  make_certificates(longer.path(), {.clients = 1, .days = 41, .now = past});
  const auto report = make_certificates(longer.path(), {.clients = 2, .days = 1000});
  CHECK(report.made == 1);
  CHECK(report.expires == utc_text(system_clock::to_time_t(past + 41 * kDay)));
  CHECK(expiry(read_certificate(longer / "client-1.pem").get()) == expiry(read_certificate(longer / "authority.pem").get()));
}

TEST_CASE("a certificate that expired before its authority is reissued for the same key") {
  const TemporaryFolder folder;
  const auto past = system_clock::now() - 40 * kDay;
  const auto past_time = system_clock::to_time_t(past);
  make_certificates(folder.path(), {.clients = 2, .days = 365, .now = past});
  const TlsFiles files = client_files(folder.path(), 1);
  const Identity authority{read_certificate(folder / "authority.pem"), read_key(folder / "authority.key")};
  const auto key = read_key(files.key);
  const auto early = issue({"client-1", Role::client, past_time, past_time + 1000}, key.get(), &authority);
  write_file(files.certificate, to_pem(early.get()));
  CHECK_FAILURE(check_files(files, "client-1"), files.certificate.string(), utc_text(past_time + 1000));
  const std::string key_text = read_file(files.key);
  const auto report = make_certificates(folder.path(), {.clients = 2});
  CHECK(report.made == 1);
  CHECK(report.kept == 3);
  CHECK(read_file(files.key) == key_text);
  CHECK_NOTHROW(check_files(files, "client-1"));
}

TEST_CASE("a folder whose authority is incomplete or damaged gets no further certificates") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 1});
  const auto all = contents(folder.path());
  const auto refused = [&](std::initializer_list<std::string_view> parts) {
    const auto before = contents(folder.path());
    const std::string thrown = error_of_kind(Error::Kind::failure, [&] { make_certificates(folder.path(), {.clients = 2}); });
    CHECK(contents(folder.path()) == before);
    INFO(thrown);
    return names(thrown, parts);
  };
  const std::string certificate = folder / "authority.pem", key = folder / "authority.key";
  fs::remove(key);
  CHECK(refused({key}));
  write_files(folder.path(), std::vector<NewFile>{{"authority.key", all.at("client-0.key"), 0600}});
  CHECK(refused({key, certificate}));
  write_files(folder.path(), std::vector<NewFile>{{"authority.key", all.at("authority.key"), 0644}});
  CHECK(refused({"chmod 600 " + key}));
  write_files(folder.path(), std::vector<NewFile>{{"authority.key", all.at("authority.key"), 0600}});
  write_file(certificate, all.at("authority.pem").substr(0, 200));
  CHECK(refused({certificate, "PEM"}));
  fs::remove(certificate);
  CHECK(refused({certificate}));
  write_file(certificate, all.at("client-0.pem"));
  write_files(folder.path(), std::vector<NewFile>{{"authority.key", all.at("client-0.key"), 0600}});
  CHECK(refused({certificate, "authority"}));
}

TEST_CASE("a folder in use by another process is left alone; concurrent calls never mix two authorities") {
  const TemporaryFolder folder;
  {
    const Descriptor held = opened(folder.path(), O_RDONLY | O_DIRECTORY);
    REQUIRE(::flock(held.get(), LOCK_EX) == 0);
    CHECK_FAILURE(make_certificates(folder.path(), {.clients = 1}), "'" + folder.path().string() + "'");
  }
  CHECK(fs::is_empty(folder.path()));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      try {
        make_certificates(folder.path(), {.clients = 20});
      } catch (const Error&) {
      }
    });
  for (auto& thread : threads) thread.join();
  make_certificates(folder.path(), {.clients = 20});
  for (ClientId client = 0; client < 20; ++client)
    CHECK_NOTHROW(check_files(client_files(folder.path(), client), client_name(client)));
}

TEST_CASE("numbers out of range are refused before anything is created; a path that is not a folder is named") {
  const TemporaryFolder folder;
  const std::string certs = folder / "certs";
  CHECK_USAGE_ERROR(make_certificates(certs, {.clients = -1}), "clients", "-1", "0", "100000");
  CHECK_USAGE_ERROR(make_certificates(certs, {.clients = 100'001}), "clients", "100001");
  CHECK_USAGE_ERROR(make_certificates(certs, {.days = 0}), "days", "0", "1", "36500");
  CHECK_USAGE_ERROR(make_certificates(certs, {.days = -3}), "days", "-3");
  CHECK_FALSE(fs::exists(certs));
  write_file(folder / "file", "x");
  CHECK_FAILURE(make_certificates(folder / "file", {}), folder / "file");
}

}  // namespace
}  // namespace fedstride::test::certificates_test
