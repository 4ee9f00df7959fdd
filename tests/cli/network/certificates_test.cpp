#include <sys/stat.h>

#include "tests/cli/refusal.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::certificates_test {

namespace fs = std::filesystem;

namespace {

const auto kOwnerOnly = fs::perms::owner_read | fs::perms::owner_write;

void make_certificates(const TemporaryFolder& folder, const std::string& name) {
  REQUIRE(run_program({"certificates", "--clients", "2", "--out", folder / name}).code == 0);
}

void put_private(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  fedstride::write_file(folder / name, bytes);
  fs::permissions(folder / name, kOwnerOnly);
}

// Folders that are complete except for one file each.
void put_folders(const TemporaryFolder& folder) {
  fedstride::write_file(folder / "file", "x");
  make_certificates(folder, "certs");
  make_certificates(folder, "theirs");
  for (const char* name : {"no-key", "no-authority", "cut", "open", "mixed", "swapped"})
    fs::copy(folder / "certs", folder / name, fs::copy_options::recursive);
  fs::remove(folder / "no-key/authority.key");
  fs::remove(folder / "no-authority/authority.pem");
  fedstride::write_file(folder / "cut/client-1.pem", fedstride::read_file(folder / "certs/client-1.pem").substr(0, 300));
  fs::permissions(folder / "open/client-0.key", kOwnerOnly | fs::perms::group_read);
  for (const char* name : {"client-1.pem", "client-1.key"})
    put_private(folder, std::string("mixed/") + name, fedstride::read_file(folder.path() / "theirs" / name));
  put_private(folder, "swapped/client-1.key", fedstride::read_file(folder / "certs/client-0.key"));
}

const Refusal kRefusals[] = {
    {{"certificates"}, 2, {"--out"}},
    {{"certificates", "--out", ""}, 2, {"out is ''"}},
    {{"certificates", "--out", "@/new", "--clients", "-1"}, 2, {"clients is '-1'"}},
    {{"certificates", "--out", "@/new", "--clients", "100001"}, 2, {"clients is '100001'"}},
    {{"certificates", "--out", "@/new", "--clients", "five"}, 2, {"clients is 'five'"}},
    {{"certificates", "--out", "@/new", "--days", "-1"}, 2, {"days is '-1'"}},
    {{"certificates", "--out", "@/new", "--days", "0"}, 2, {"days is '0'"}},
    {{"certificates", "--out", "@/new", "--day", "3"}, 2, {"'--days'"}},
    {{"certificates", "--out", "@/new", "more"}, 2, {"'more'"}},
    {{"certificates", "--out", "@/new", "--request"}, 2, {"--client"}},
    {{"certificates", "--out", "@/new", "--client", "3"}, 2, {"client is '3'"}},
    {{"certificates", "--out", "@/new", "--request", "--client", "x"}, 2, {"client is 'x'"}},
    {{"certificates", "--out", "@/certs", "--request", "--client", "1", "--renew", "authority"}, 2, {"--renew"}},
    {{"certificates", "--out", "@/certs", "--renew", "client-x"}, 2, {"renew is 'client-x'"}},
    {{"certificates", "--out", "@/certs", "--renew", "client-7"}, 1, {"'@/certs/client-7.key'"}},
    {{"certificates", "--out", "@/new", "--renew", "authority"}, 1, {"'@/new/authority.pem'"}},
    {{"certificates", "--out", "@/certs", "--sign", "@/nowhere"}, 1, {"'@/nowhere'"}},
    {{"certificates", "--out", "@/certs", "--sign", "@/certs/client-0.pem"}, 1, {"'@/certs/client-0.pem'"}},
    {{"certificates", "--out", "@/file"}, 1, {"'@/file'"}},
    {{"certificates", "--out", "@/file/new"}, 1, {"'@/file/new'"}},
    {{"certificates", "--out", "/proc/new"}, 1, {"'/proc/new'"}},
    {{"certificates", "--out", "@/no-key"}, 1, {"'@/no-key/authority.key'"}},
    {{"certificates", "--out", "@/no-authority"}, 1, {"'@/no-authority/authority.pem'"}},
    {{"certificates", "--out", "@/cut"}, 1, {"'@/cut/client-1.pem'"}},
    {{"certificates", "--out", "@/open"}, 1, {"chmod 600 @/open/client-0.key"}},
    {{"certificates", "--out", "@/mixed"}, 1, {"'@/mixed/client-1.pem'"}},
    {{"certificates", "--out", "@/swapped"}, 1, {"'@/swapped/client-1.key'"}},
};

}  // namespace

TEST_CASE("certificates reports how many it made and kept, their expiry and who needs which files") {
  const TemporaryFolder folder;
  const Outcome first = run_program({"certificates", "--clients", "3", "--out", folder / "certs"});
  CHECK(first.code == 0);
  CHECK(first.err.empty());
  const auto line_of = [](const Outcome& outcome) { return outcome.out.substr(0, outcome.out.find('\n')); };
  CHECK_MESSAGE(names(line_of(first), {"'" + folder / "certs'", "5", "0", "UTC"}), first.out);
  for (const char* part : {"coordinator.pem", "client-K.key", "authority.pem", "authority.key", " UTC\n"})
    CHECK(first.out.find(part) != std::string::npos);
  CHECK(first.out.find("PRIVATE KEY") == std::string::npos);
  const auto before = contents(folder / "certs");
  CHECK(before.size() == 10);
  for (const auto& [name, text] : before)
    if (name.ends_with(".key")) CHECK(fs::status(name).permissions() == kOwnerOnly);

  const Outcome second = run_program({"certificates", "--clients", "4", "--days", "7", "--out", folder / "certs"});
  CHECK(second.code == 0);
  CHECK_MESSAGE(names(line_of(second), {"'" + folder / "certs'", "1", "5", "UTC"}), second.out);
  const auto after = contents(folder / "certs");
  CHECK(after.size() == 12);
  for (const auto& [name, text] : before) CHECK(after.at(name) == text);
}

TEST_CASE("certificates refuses invalid or mismatched input in one line and leaves the files unchanged") {
  const TemporaryFolder folder;
  put_folders(folder);
  for (const auto& row : kRefusals) check_refused(row, folder);
}

TEST_CASE("certificates on a full disk names the file and leaves no partial one; the same command works later") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "certs");
  const Words words{"certificates", "--clients", "2", "--out", folder / "certs"};
  const TemporaryFolder output;
  const Process process(words, output, "/dev/null", 300);  // enough for a key, not for a certificate
  CHECK(process.wait() == 1);
  CHECK_MESSAGE(names(process.err(), {folder / "certs", "File too large"}), process.err());
  CHECK(fs::is_empty(folder / "certs"));
  CHECK(run_program(words).code == 0);
}

}  // namespace fedstride::test::certificates_test
