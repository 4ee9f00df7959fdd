#include <sys/stat.h>

#include "tests/cli/refusal.hpp"

namespace fedstride::test::certificates_test {

namespace fs = std::filesystem;

namespace {

const auto kOwnerAlone = fs::perms::owner_read | fs::perms::owner_write;

void make_certificates(const TemporaryFolder& folder, const std::string& name) {
  REQUIRE(run_program({"certificates", "--clients", "2", "--out", folder / name}).code == 0);
}

void put_private(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  fedstride::write_file(folder / name, bytes);
  fs::permissions(folder / name, kOwnerAlone);
}

// Folders that are whole but for one file each.
void put_folders(const TemporaryFolder& folder) {
  fedstride::write_file(folder / "file", "x");
  make_certificates(folder, "certs");
  make_certificates(folder, "theirs");
  for (const char* name : {"no-key", "no-authority", "cut", "open", "mixed", "swapped"})
    fs::copy(folder / "certs", folder / name, fs::copy_options::recursive);
  fs::remove(folder / "no-key/authority.key");
  fs::remove(folder / "no-authority/authority.pem");
  fedstride::write_file(folder / "cut/client-1.pem", fedstride::read_file(folder / "certs/client-1.pem").substr(0, 300));
  fs::permissions(folder / "open/client-0.key", kOwnerAlone | fs::perms::group_read);
  for (const char* name : {"client-1.pem", "client-1.key"})
    put_private(folder, std::string("mixed/") + name, fedstride::read_file(folder.path() / "theirs" / name));
  put_private(folder, "swapped/client-1.key", fedstride::read_file(folder / "certs/client-0.key"));
}

const Refusal kRefusals[] = {
    {{"certificates"}, 2, "--out is required"},
    {{"certificates", "--out", ""}, 2, "out is ''; it must name a place"},
    {{"certificates", "--out", "@/new", "--clients", "-1"}, 2, "clients is '-1'; it must be a whole number from 0 to 100000"},
    {{"certificates", "--out", "@/new", "--clients", "100001"}, 2, "clients is '100001'"},
    {{"certificates", "--out", "@/new", "--clients", "five"}, 2, "clients is 'five'"},
    {{"certificates", "--out", "@/new", "--days", "-1"}, 2, "days is '-1'; it must be a whole number from 1 to 36500"},
    {{"certificates", "--out", "@/new", "--days", "0"}, 2, "days is '0'"},
    {{"certificates", "--out", "@/new", "--day", "3"}, 2, "flag '--day' is unknown; did you mean '--days'?"},
    {{"certificates", "--out", "@/new", "more"}, 2, "'more' was not expected"},
    {{"certificates", "--out", "@/new", "--request"}, 2, "--request needs --client K"},
    {{"certificates", "--out", "@/new", "--client", "3"}, 2, "client is '3'; it goes with --request or --sign alone"},
    {{"certificates", "--out", "@/new", "--request", "--client", "x"}, 2, "client is 'x'; it must be a whole number"},
    {{"certificates", "--out", "@/certs", "--request", "--client", "1", "--renew", "authority"}, 2, "exclude each other"},
    {{"certificates", "--out", "@/certs", "--renew", "client-x"}, 2, "renew is 'client-x'; valid: authority, coordinator"},
    {{"certificates", "--out", "@/certs", "--renew", "client-7"}, 1, "nothing is known of its key"},
    {{"certificates", "--out", "@/new", "--renew", "authority"}, 1, "'@/new/authority.pem' is missing"},
    {{"certificates", "--out", "@/certs", "--sign", "@/nowhere"}, 1, "cannot read '@/nowhere'"},
    {{"certificates", "--out", "@/certs", "--sign", "@/certs/client-0.pem"}, 1, "is not a request in PEM"},
    {{"certificates", "--out", "@/file"}, 1, "cannot make folder '@/file'"},
    {{"certificates", "--out", "@/file/new"}, 1, "cannot make folder '@/file/new'"},
    {{"certificates", "--out", "/proc/new"}, 1, "cannot make folder '/proc/new'"},
    {{"certificates", "--out", "@/no-key"}, 1, "'@/no-key/authority.key' is missing"},
    {{"certificates", "--out", "@/no-authority"}, 1, "'@/no-authority/authority.pem' is missing"},
    {{"certificates", "--out", "@/cut"}, 1, "'@/cut/client-1.pem' is not a certificate in PEM, or is damaged"},
    {{"certificates", "--out", "@/open"}, 1, "it must be its owner's alone: chmod 600 @/open/client-0.key"},
    {{"certificates", "--out", "@/mixed"}, 1, "'@/mixed/client-1.pem' is not one that the authority of"},
    {{"certificates", "--out", "@/swapped"}, 1, "'@/swapped/client-1.key' does not belong to the certificate"},
};

}  // namespace

TEST_CASE("certificates says how many it made and kept, until when they are valid and who needs what") {
  const TemporaryFolder folder;
  const Outcome first = run_program({"certificates", "--clients", "3", "--out", folder / "certs"});
  CHECK(first.code == 0);
  CHECK(first.err.empty());
  CHECK(first.out.starts_with("'" + folder / "certs': 5 certificates made, 0 kept; valid until 20"));
  for (const char* part : {"coordinator.pem", "client-K.key", "authority.pem", "authority.key", " UTC\n"})
    CHECK(first.out.find(part) != std::string::npos);
  CHECK(first.out.find("PRIVATE KEY") == std::string::npos);
  const auto before = contents(folder / "certs");
  CHECK(before.size() == 10);
  for (const auto& [name, text] : before)
    if (name.ends_with(".key")) CHECK(fs::status(name).permissions() == kOwnerAlone);

  const Outcome second = run_program({"certificates", "--clients", "4", "--days", "7", "--out", folder / "certs"});
  CHECK(second.code == 0);
  CHECK(second.out.starts_with("'" + folder / "certs': 1 certificate made, 5 kept; valid until 20"));
  const auto after = contents(folder / "certs");
  CHECK(after.size() == 12);
  for (const auto& [name, text] : before) CHECK(after.at(name) == text);
}

TEST_CASE("certificates refuses what makes no sense or does not fit in one line, and leaves the files as they were") {
  const TemporaryFolder folder;
  put_folders(folder);
  for (const auto& row : kRefusals) check_refused(row, folder);
}

TEST_CASE("certificates on a full disk names the file and leaves no half of one; the same command goes on later") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "certs");
  const Words words{"certificates", "--clients", "2", "--out", folder / "certs"};
  const TemporaryFolder output;
  const Process process(words, output, "/dev/null", 300);  // enough for a key, not for a certificate
  CHECK(process.wait() == 1);
  CHECK(line_count(process.err()) == 1);
  CHECK(process.err().find("cannot write '" + folder / "certs/") != std::string::npos);
  CHECK(fs::is_empty(folder / "certs"));
  CHECK(run_program(words).code == 0);
}

}  // namespace fedstride::test::certificates_test
