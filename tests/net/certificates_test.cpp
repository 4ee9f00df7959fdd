#include "tests/net/certificates.hpp"

#include <fcntl.h>
#include <openssl/x509v3.h>
#include <sys/file.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

#include "net/x509.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::certificates_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

constexpr std::chrono::hours kDay{24};

/// By OpenSSL alone, without what is under test.
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

TEST_CASE("an authority, the coordinator's certificate and every client's, each good for its own role alone") {
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
  CHECK(refusal(coordinator, kCoordinatorName) == "no error");
  CHECK(says(refusal(coordinator, "client-0"), "is not a client's"));
  for (ClientId client = 0; client < 3; ++client) {
    const TlsFiles files = client_files(certs, client);
    CHECK(verifies(files, X509_PURPOSE_SSL_CLIENT));
    CHECK_FALSE(verifies(files, X509_PURPOSE_SSL_SERVER));
    CHECK(refusal(files, client_name(client)) == "no error");
    CHECK(says(refusal(files, kCoordinatorName), "is not a coordinator's"));
  }
  CHECK(says(refusal(client_files(certs, 2), "client-1"), "is that of 'client-2'; it must be that of 'client-1'"));
}

TEST_CASE("certificates are of version 3, on P-256, each with a serial number and a key of its own") {
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

TEST_CASE("the authority's certificate signs certificates and no further authorities; a client's signs nothing") {
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
  CHECK(says(refusal({folder / "authority.pem", folder / "forged.pem", folder / "forged.key"}, kCoordinatorName),
             "is not one that the authority of"));
  CHECK(says(refusal({files.certificate, folder / "forged.pem", folder / "forged.key"}, kCoordinatorName),
             "is not an authority's"));
}

TEST_CASE("a second call makes only what is missing, by the same authority, and no key is replaced") {
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
  CHECK(refusal(coordinator_files(folder.path()), kCoordinatorName) == "no error");
  for (ClientId client = 0; client < 4; ++client)
    CHECK(refusal(client_files(folder.path(), client), client_name(client)) == "no error");

  const auto third = make_certificates(folder.path(), {.clients = 4});
  CHECK(third.made == 0);
  CHECK(third.kept == 6);
  CHECK(third.expires == report.expires);
  CHECK(contents(folder.path()) == after);
}

TEST_CASE("an authority's key that is left of a process killed early is used, not replaced") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 1});
  const std::string key = read_file(folder / "authority.key");
  for (const char* name : {"authority.pem", "coordinator.pem", "client-0.pem"}) fs::remove(folder / name);
  CHECK(make_certificates(folder.path(), {.clients = 1}).made == 3);
  CHECK(read_file(folder / "authority.key") == key);
  CHECK(refusal(client_files(folder.path(), 0), "client-0") == "no error");
}

TEST_CASE("certificates expire, at the latest with their authority; those that have are named with the date") {
  const TemporaryFolder folder;
  const auto past = system_clock::now() - 40 * kDay;
  const auto end = utc_text(system_clock::to_time_t(past + 30 * kDay));
  CHECK(make_certificates(folder.path(), {.clients = 1, .days = 30, .now = past}).expires == end);
  const TlsFiles files = client_files(folder.path(), 0);
  CHECK(says(refusal(files, "client-0"), "expired on " + end + "; 'fedstride certificates' makes new ones"));
  CHECK(
      says(failure_of([&] { make_certificates(folder.path(), {.clients = 1}); }), "expired on " + end + "; name another folder"));

  const TemporaryFolder longer;
  make_certificates(longer.path(), {.clients = 1, .days = 41, .now = past});
  const auto report = make_certificates(longer.path(), {.clients = 2, .days = 1000});
  CHECK(report.made == 1);
  CHECK(report.expires == utc_text(system_clock::to_time_t(past + 41 * kDay)));
  CHECK(expiry(read_certificate(longer / "client-1.pem").get()) == expiry(read_certificate(longer / "authority.pem").get()));
}

TEST_CASE("a certificate that has expired before its authority is made anew for the same key") {
  const TemporaryFolder folder;
  const auto past = system_clock::now() - 40 * kDay;
  const auto past_time = system_clock::to_time_t(past);
  make_certificates(folder.path(), {.clients = 2, .days = 365, .now = past});
  const TlsFiles files = client_files(folder.path(), 1);
  const Identity authority{read_certificate(folder / "authority.pem"), read_key(folder / "authority.key")};
  const auto key = read_key(files.key);
  const auto early = issue({"client-1", Role::client, past_time, past_time + 1000}, key.get(), &authority);
  write_file(files.certificate, to_pem(early.get()));
  CHECK(says(refusal(files, "client-1"), files.certificate.string() + "' expired on "));
  const std::string key_text = read_file(files.key);
  const auto report = make_certificates(folder.path(), {.clients = 2});
  CHECK(report.made == 1);
  CHECK(report.kept == 3);
  CHECK(read_file(files.key) == key_text);
  CHECK(refusal(files, "client-1") == "no error");
}

TEST_CASE("a folder without its authority's certificate or key, or with a damaged one, gets no further certificates") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 1});
  const auto all = contents(folder.path());
  const auto refused = [&](const std::string& part) {
    const auto before = contents(folder.path());
    const bool said = says(failure_of([&] { make_certificates(folder.path(), {.clients = 2}); }), part);
    CHECK(contents(folder.path()) == before);
    return said;
  };
  fs::remove(folder / "authority.key");
  CHECK(refused("'" + folder / "authority.key' is missing"));
  write_files(folder.path(), std::vector<NewFile>{{"authority.key", all.at("client-0.key"), 0600}});
  CHECK(refused("does not belong to the certificate '" + folder / "authority.pem"));
  write_files(folder.path(), std::vector<NewFile>{{"authority.key", all.at("authority.key"), 0644}});
  CHECK(refused("chmod 600 " + folder / "authority.key"));
  write_files(folder.path(), std::vector<NewFile>{{"authority.key", all.at("authority.key"), 0600}});
  write_file(folder / "authority.pem", all.at("authority.pem").substr(0, 200));
  CHECK(refused("'" + folder / "authority.pem' is not a certificate in PEM, or is damaged"));
  fs::remove(folder / "authority.pem");
  CHECK(refused("'" + folder / "authority.pem' is missing"));
  write_file(folder / "authority.pem", all.at("client-0.pem"));
  write_files(folder.path(), std::vector<NewFile>{{"authority.key", all.at("client-0.key"), 0600}});
  CHECK(refused("is not an authority's"));
}

TEST_CASE("a folder in which another process is at work is left to it; of many at once none mixes two authorities") {
  const TemporaryFolder folder;
  {
    const int held = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
    REQUIRE(::flock(held, LOCK_EX) == 0);
    CHECK(says(failure_of([&] { make_certificates(folder.path(), {.clients = 1}); }), "another fedstride process"));
    ::close(held);
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
    CHECK(refusal(client_files(folder.path(), client), client_name(client)) == "no error");
}

TEST_CASE("numbers out of range are refused before anything is made; a place that is no folder is named") {
  const TemporaryFolder folder;
  const auto usage = [&](const CertificateRules& rules) {
    try {
      make_certificates(folder / "certs", rules);
    } catch (const Error& error) {
      return error.kind() == Error::Kind::usage ? std::string(error.what()) : "failure";
    }
    return std::string("no error");
  };
  CHECK(usage({.clients = -1}) == "clients is -1; it must be a whole number from 0 to 100000");
  CHECK(usage({.clients = 100'001}).starts_with("clients is 100001"));
  CHECK(usage({.days = 0}) == "days is 0; it must be a whole number from 1 to 36500");
  CHECK(usage({.days = -3}).starts_with("days is -3"));
  CHECK_FALSE(fs::exists(folder / "certs"));
  write_file(folder / "file", "x");
  CHECK(says(failure_of([&] { make_certificates(folder / "file", {}); }), "cannot make folder '" + folder / "file"));
}

}  // namespace
}  // namespace fedstride::test::certificates_test
