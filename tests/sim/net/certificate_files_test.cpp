#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "sim/net/x509.hpp"
#include "tests/sim/net/certificates.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::certificate_files_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

constexpr std::chrono::hours kDay{24};

/// Changes the base64 letter at `at`, counted from the first line after the header.
void alter(const fs::path& path, std::size_t at) {
  std::string text = read_file(path);
  char& letter = text[text.find('\n') + 1 + at];
  letter = letter == 'A' ? 'B' : 'A';
  const auto mode = fs::status(path).permissions();
  write_file(path, text);
  fs::permissions(path, mode);
}

TEST_CASE("keys are accessible only to their owner; one accessible to others, or owned by another user, is refused") {
  const TemporaryFolder folder;
  const auto before = ::umask(0);
  make_certificates(folder.path(), {.clients = 2});
  ::umask(before);
  for (const char* name : {"authority.key", "coordinator.key", "client-0.key", "client-1.key"})
    CHECK(fs::status(folder / name).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  const TlsFiles files = client_files(folder.path(), 0);
  for (const auto bit : {fs::perms::group_read, fs::perms::others_read, fs::perms::group_write}) {
    fs::permissions(files.key, fs::perms::owner_read | fs::perms::owner_write | bit);
    CHECK_FAILURE(check_files(files, "client-0"), "chmod 600 " + files.key.string());
  }
  fs::permissions(files.key, fs::perms::owner_read);
  CHECK_NOTHROW(check_files(files, "client-0"));
  if (::geteuid() == 0) {
    REQUIRE(::chown(files.key.c_str(), 65534, 65534) == 0);
    CHECK_FAILURE(check_files(files, "client-0"), files.key.string(), "65534");
  }
}

TEST_CASE("a clock a few minutes slow accepts new certificates, one a day slow does not") {
  const TemporaryFolder folder;
  const auto slow = system_clock::now() + std::chrono::minutes(3);
  make_certificates(folder / "near", {.clients = 1, .now = slow});
  CHECK_NOTHROW(check_files(client_files(folder / "near", 0), "client-0"));
  make_certificates(folder / "far", {.clients = 1, .now = slow + kDay});
  const std::string begin = utc_text(system_clock::to_time_t(slow + kDay - std::chrono::minutes(5)));
  CHECK_FAILURE(check_files(client_files(folder / "far", 0), "client-0"), begin);
}

TEST_CASE("a certificate from another authority with the same name is refused") {
  const TemporaryFolder folder;
  make_certificates(folder / "ours", {.clients = 1});
  make_certificates(folder / "theirs", {.clients = 1});
  TlsFiles files = client_files(folder / "theirs", 0);
  files.authority = folder / "ours/authority.pem";
  CHECK_FAILURE(check_files(files, "client-0"), files.certificate.string(), files.authority.string());
  for (const char* name : {"client-0.pem", "client-0.key"})
    fs::copy_file(fs::path(folder / "theirs") / name, fs::path(folder / "ours") / name, fs::copy_options::overwrite_existing);
  const auto before = contents(folder / "ours");
  CHECK_FAILURE(make_certificates(folder / "ours", {.clients = 3}), folder / "ours/client-0.pem", folder / "ours/authority.pem");
  CHECK(contents(folder / "ours") == before);
}

TEST_CASE("missing, damaged, oversized, mismatched and irregular files are named") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 2});
  const TlsFiles good = client_files(folder.path(), 0);
  const auto private_copy = [&](const std::string& name, const std::string& text) {
    write_files(folder.path(), std::vector<NewFile>{{name, text, 0600}});
    return fs::path(folder / name);
  };
  const auto certificate = [&](const fs::path& path) { check_files({good.authority, path, good.key}, "client-0"); };
  const auto key = [&](const fs::path& path) { check_files({good.authority, good.certificate, path}, "client-0"); };

  const std::string nowhere = folder / "nowhere";
  CHECK_FAILURE(certificate(nowhere), nowhere, "No such file or directory");
  CHECK_FAILURE(key(nowhere), nowhere, "No such file or directory");
  CHECK_FAILURE(check_files({nowhere, good.certificate, good.key}, "client-0"), nowhere, "No such file or directory");
  CHECK_FAILURE(certificate(folder.path()), "'" + folder.path().string() + "'");
  CHECK_FAILURE(key("/dev/zero"), "'/dev/zero'");
  CHECK_FAILURE(certificate(private_copy("large", std::string((1 << 20) + 1, 'x'))), folder / "large", "1048576");
  CHECK_FAILURE(certificate(private_copy("empty", "")), folder / "empty", "certificate", "PEM");
  CHECK_FAILURE(key(private_copy("empty", "")), folder / "empty", "key", "PEM");
  CHECK_FAILURE(key(good.certificate), "chmod 600 " + good.certificate.string());
  CHECK_FAILURE(certificate(good.key), good.key.string(), "certificate", "PEM");
  const fs::path other_key = client_files(folder.path(), 1).key;
  CHECK_FAILURE(key(other_key), other_key.string(), good.certificate.string());

  const std::string certificate_text = read_file(good.certificate);
  const std::string key_text = read_file(good.key);
  for (const double share : {0.1, 0.5, 0.9}) {
    const auto cut = [&](const std::string& text) {
      return text.substr(0, static_cast<std::size_t>(share * static_cast<double>(text.size())));
    };
    CHECK_FAILURE(certificate(private_copy("cut.pem", cut(certificate_text))), folder / "cut.pem", "PEM");
    CHECK_FAILURE(key(private_copy("cut.key", cut(key_text))), folder / "cut.key", "PEM");
  }
  for (const std::size_t at : {70, 150, 250, 350, 480, 540}) {  // from the serial number to the signature
    const auto path = private_copy("altered.pem", certificate_text);
    alter(path, at);
    CHECK_THROWS_AS(certificate(path), Error);
  }
  for (const std::size_t at : {50, 70, 120, 160}) {  // in the secret number and in the point
    const auto path = private_copy("altered.key", key_text);
    alter(path, at);
    CHECK_THROWS_AS(key(path), Error);
  }

  fs::create_symlink(good.key, folder / "link.key");
  fs::create_symlink(good.certificate, folder / "link.pem");
  CHECK_NOTHROW(check_files({good.authority, folder / "link.pem", folder / "link.key"}, "client-0"));
}

TEST_CASE("a key with a password is refused without asking for it") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 1});
  const TlsFiles files = client_files(folder.path(), 0);
  const std::string text = read_file(files.key);
  write_file(files.key,
             "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
             "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n" +
                 text.substr(text.find('\n') + 1, 64) + "\n-----END EC PRIVATE KEY-----\n");
  fs::permissions(files.key, fs::perms::owner_read);
  CHECK_FAILURE(check_files(files, "client-0"), files.key.string(), "PEM", "password");
}

}  // namespace
}  // namespace fedstride::test::certificate_files_test
