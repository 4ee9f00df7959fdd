#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "tests/net/certificates.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::certificate_files_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::system_clock;

constexpr std::chrono::hours kDay{24};

/// Another letter of base64 at `at`, counted from the first line after the header.
void alter(const fs::path& path, std::size_t at) {
  std::string text = read_file(path);
  char& letter = text[text.find('\n') + 1 + at];
  letter = letter == 'A' ? 'B' : 'A';
  const auto mode = fs::status(path).permissions();
  write_file(path, text);
  fs::permissions(path, mode);
}

TEST_CASE("keys are their owner's alone; one that is open to others, or somebody else's, is refused") {
  const TemporaryFolder folder;
  const auto before = ::umask(0);
  make_certificates(folder.path(), {.clients = 2});
  ::umask(before);
  for (const char* name : {"authority.key", "coordinator.key", "client-0.key", "client-1.key"})
    CHECK(fs::status(folder / name).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  const TlsFiles files = client_files(folder.path(), 0);
  for (const auto bit : {fs::perms::group_read, fs::perms::others_read, fs::perms::group_write}) {
    fs::permissions(files.key, fs::perms::owner_read | fs::perms::owner_write | bit);
    CHECK(says(refusal(files, "client-0"), "chmod 600 " + files.key.string()));
  }
  fs::permissions(files.key, fs::perms::owner_read);
  CHECK(refusal(files, "client-0") == "no error");
  if (::geteuid() == 0) {
    REQUIRE(::chown(files.key.c_str(), 65534, 65534) == 0);
    CHECK(says(refusal(files, "client-0"), "belongs to another user"));
  }
}

TEST_CASE("a clock that is a few minutes slow still accepts new certificates, one of a day before refuses") {
  const TemporaryFolder folder;
  const auto slow = system_clock::now() + std::chrono::minutes(3);
  make_certificates(folder / "near", {.clients = 1, .now = slow});
  CHECK(refusal(client_files(folder / "near", 0), "client-0") == "no error");
  make_certificates(folder / "far", {.clients = 1, .now = slow + kDay});
  CHECK(says(refusal(client_files(folder / "far", 0), "client-0"), "is not valid yet"));
}

TEST_CASE("another authority's certificate is refused, although that has the same name") {
  const TemporaryFolder folder;
  make_certificates(folder / "ours", {.clients = 1});
  make_certificates(folder / "theirs", {.clients = 1});
  TlsFiles files = client_files(folder / "theirs", 0);
  files.authority = folder / "ours/authority.pem";
  CHECK(says(refusal(files, "client-0"), "is not one that the authority of '" + files.authority.string() + "' made"));
  for (const char* name : {"client-0.pem", "client-0.key"})
    fs::copy_file(fs::path(folder / "theirs") / name, fs::path(folder / "ours") / name, fs::copy_options::overwrite_existing);
  const auto before = contents(folder / "ours");
  CHECK(says(failure_of([&] { make_certificates(folder / "ours", {.clients = 3}); }), "is not one that the authority"));
  CHECK(contents(folder / "ours") == before);
}

TEST_CASE("files that are missing, damaged, too large, no files or of different parties are named") {
  const TemporaryFolder folder;
  make_certificates(folder.path(), {.clients = 2});
  const TlsFiles good = client_files(folder.path(), 0);
  const auto private_copy = [&](const std::string& name, const std::string& text) {
    write_files(folder.path(), std::vector<NewFile>{{name, text, 0600}});
    return fs::path(folder / name);
  };
  const auto certificate = [&](const fs::path& path) { return refusal({good.authority, path, good.key}, "client-0"); };
  const auto key = [&](const fs::path& path) { return refusal({good.authority, good.certificate, path}, "client-0"); };

  CHECK(says(certificate(folder / "nowhere"), "cannot read '" + folder / "nowhere"));
  CHECK(says(key(folder / "nowhere"), "cannot read '" + folder / "nowhere"));
  CHECK(says(refusal({folder / "nowhere", good.certificate, good.key}, "client-0"), "cannot read"));
  CHECK(says(certificate(folder.path()), "is not a file"));
  CHECK(says(key("/dev/zero"), "is not a file"));
  CHECK(says(certificate(private_copy("large", std::string((1 << 20) + 1, 'x'))), "is larger than"));
  CHECK(says(certificate(private_copy("empty", "")), "'" + folder / "empty' is not a certificate in PEM"));
  CHECK(says(key(private_copy("empty", "")), "is not a private key in PEM"));
  CHECK(says(key(good.certificate), "chmod 600"));
  CHECK(says(certificate(good.key), "is not a certificate in PEM"));
  CHECK(says(key(client_files(folder.path(), 1).key), "does not belong to the certificate '" + good.certificate.string()));

  const std::string certificate_text = read_file(good.certificate);
  const std::string key_text = read_file(good.key);
  for (const double share : {0.1, 0.5, 0.9}) {
    const auto cut = [&](const std::string& text) {
      return text.substr(0, static_cast<std::size_t>(share * static_cast<double>(text.size())));
    };
    CHECK(says(certificate(private_copy("cut.pem", cut(certificate_text))), "is damaged"));
    CHECK(says(key(private_copy("cut.key", cut(key_text))), "is damaged"));
  }
  for (const std::size_t at : {70, 150, 250, 350, 480, 540}) {  // from the serial number to the signature
    const auto path = private_copy("altered.pem", certificate_text);
    alter(path, at);
    CHECK(certificate(path) != "no error");
  }
  for (const std::size_t at : {50, 70, 120, 160}) {  // of the secret number and of the point
    const auto path = private_copy("altered.key", key_text);
    alter(path, at);
    CHECK(key(path) != "no error");
  }

  fs::create_symlink(good.key, folder / "link.key");
  fs::create_symlink(good.certificate, folder / "link.pem");
  CHECK(refusal({good.authority, folder / "link.pem", folder / "link.key"}, "client-0") == "no error");
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
  CHECK(says(refusal(files, "client-0"), "is not a private key in PEM without a password"));
}

}  // namespace
}  // namespace fedstride::test::certificate_files_test
