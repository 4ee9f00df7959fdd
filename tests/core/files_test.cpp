#include "core/files.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <vector>

#include "core/error.hpp"
#include "core/folder_lock.hpp"
#include "core/hash.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::files_test {
namespace {

namespace fs = std::filesystem;

/// A folder that lives as long as the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "fedstride-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path operator/(std::string_view name) const { return path_ / name; }
  std::size_t entries() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), {})); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Files of this process end at `bytes`, as on a disk that is full there.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &saved_);
    rlimit limit = saved_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &saved_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit saved_{};
};

/// Root may write everywhere: as root, act as nobody for a while.
class WithoutPrivileges {
 public:
  WithoutPrivileges() : root_(::geteuid() == 0) {
    if (root_) REQUIRE(::seteuid(65534) == 0);
  }
  ~WithoutPrivileges() {
    if (root_) [[maybe_unused]]
      const int restored = ::seteuid(0);
  }
  WithoutPrivileges(const WithoutPrivileges&) = delete;
  WithoutPrivileges& operator=(const WithoutPrivileges&) = delete;

 private:
  bool root_;
};

/// As errors have it: in quotes.
std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

TEST_CASE("a file is written, replaced and read back whole, with nothing left beside it") {
  const Folder folder;
  const std::string bytes("one\0two\n", 8);
  write_file(folder / "file", "first, and longer than the second");
  write_file(folder / "file", bytes);
  CHECK(read_file(folder / "file") == bytes);
  write_file(folder / "empty", "");
  CHECK(read_file(folder / "empty").empty());
  CHECK(folder.entries() == 2);
}

TEST_CASE("a text is read without a byte order mark and with line feeds alone, and UTF-16 is refused by name") {
  const Folder folder;
  for (const std::string text : {"a\nb\n\nc",
                                 "\xef\xbb\xbf"
                                 "a\r\nb\r\n\r\nc",
                                 "a\rb\r\rc"}) {
    write_file(folder / "text", text);
    CHECK(read_text_file(folder / "text") == "a\nb\n\nc");
    CHECK(read_file(folder / "text") == text);
  }
  write_file(folder / "text", "a\r\n\r");
  CHECK(read_text_file(folder / "text") == "a\n\n");
  for (const char* mark : {"\xff\xfe", "\xfe\xff"}) {
    write_file(folder / "text", mark);
    CHECK_FAILURE(read_text_file(folder / "text"), quoted(folder / "text"), "UTF-16", "UTF-8");
  }
}

TEST_CASE("whoever has the old file open still reads the old contents after a replacement") {
  const Folder folder;
  write_file(folder / "file", "old");
  fs::create_hard_link(folder / "file", folder / "other name of the old file");
  write_file(folder / "file", "new");
  CHECK(read_file(folder / "other name of the old file") == "old");
  CHECK(read_file(folder / "file") == "new");
}

TEST_CASE("a disk that is full in the middle of a file leaves the earlier file and nothing else") {
  const Folder folder;
  write_file(folder / "file", "earlier");
  const FileSizeLimit limit(1000);
  CHECK_FAILURE(write_file(folder / "file", std::string(5000, 'x')), quoted(folder / "file"), "File too large");
  CHECK(read_file(folder / "file") == "earlier");
  CHECK(folder.entries() == 1);
}

TEST_CASE("several files are written whole, each with its mode, and nothing beside them is touched") {
  const Folder folder;
  write_file(folder / "open", "earlier");
  write_file(folder / "private.tmp", "a user's own");
  write_files(folder.path(), std::vector<NewFile>{{"private", "secret", 0600}, {"open", "later"}});
  CHECK(read_file(folder / "private") == "secret");
  CHECK(read_file(folder / "open") == "later");
  CHECK(read_file(folder / "private.tmp") == "a user's own");
  CHECK(fs::status(folder / "private").permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(folder.entries() == 3);
}

TEST_CASE("a disk that is full at one of several files leaves them all as they were") {
  const Folder folder;
  write_file(folder / "one", "earlier");
  const FileSizeLimit limit(1000);
  const std::vector<NewFile> files{{"one", "later"}, {"two", std::string(5000, 'x')}, {"three", "x"}};
  CHECK_FAILURE(write_files(folder.path(), files), quoted(folder / "two"), "File too large");
  CHECK(read_file(folder / "one") == "earlier");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a disk that is full in the middle of a line leaves the lines before it") {
  const Folder folder;
  append_line(folder / "lines", "one");
  append_line(folder / "lines", "");
  append_line(folder / "lines", "three");
  const FileSizeLimit limit(20);
  CHECK_FAILURE(append_line(folder / "lines", std::string(50, 'x')), quoted(folder / "lines"), "File too large");
  CHECK(read_file(folder / "lines") == "one\n\nthree\n");
}

TEST_CASE("a full device is named with the reason") {
  CHECK_FAILURE(append_line("/dev/full", "line"), "'/dev/full'", "No space left on device");
}

TEST_CASE("a folder that may not be written to is named with the reason") {
  const Folder folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_exec);
  const WithoutPrivileges unprivileged;
  CHECK_FAILURE(write_file(folder / "file", "x"), quoted(folder / "file"), "Permission denied");
  CHECK_FAILURE(append_line(folder / "file", "x"), quoted(folder / "file"), "Permission denied");
}

TEST_CASE("a place that cannot hold a file is named, and nothing is left behind") {
  const Folder folder;
  fs::create_directories(folder / "a folder" / "inside");
  CHECK_FAILURE(write_file(folder / "a folder", "x"), quoted(folder / "a folder"), "Is a directory");
  CHECK_FAILURE(write_file(folder / "absent" / "file", "x"), quoted(folder / "absent" / "file"), "No such file or directory");
  CHECK(folder.entries() == 1);
}

TEST_CASE("reading stops at the limit, also where a size is not known beforehand") {
  const Folder folder;
  write_file(folder / "file", std::string(1000, 'x'));
  CHECK(read_file(folder / "file", 1000).size() == 1000);
  CHECK_FAILURE(read_file(folder / "file", 999), quoted(folder / "file"), "999");
  CHECK_FAILURE(read_file("/proc/cpuinfo", 10), "'/proc/cpuinfo'", "10");
}

TEST_CASE("what cannot be read is named with the reason") {
  const Folder folder;
  CHECK_FAILURE(read_file(folder / "absent"), quoted(folder / "absent"), "No such file or directory");
  CHECK_FAILURE(read_file(folder.path()), quoted(folder.path()), "Is a directory");
}

TEST_CASE("only a regular file is read: a device without end, a pipe and a socket are refused at once") {
  const Folder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("pipe", folder / "link");
  write_file(folder / "file", "four");
  const std::pair<fs::path, std::string_view> irregular[] = {
      {"/dev/zero", "device"}, {folder / "pipe", "pipe"}, {folder / "link", "pipe"}};
  for (const auto& entry : irregular) {
    const auto& path = entry.first;
    const std::string_view kind = entry.second;
    CHECK_FAILURE(read_file(path), quoted(path), kind);
    CHECK_FAILURE(size_of_file(path), quoted(path), kind);
  }
  CHECK(size_of_file(folder / "file") == 4);
}

TEST_CASE("a sealed file reads back as it was written, and whatever is changed in it is told") {
  const Folder folder;
  const std::string body("first\n\0second", 13);
  const std::string name = "sketch '" + (folder / "file").string() + "'";
  const auto answer = [&](const std::string& file) {
    write_file(folder / "file", file);
    return error_of_kind(Error::Kind::failure, [&] { read_sealed(folder / "file", "fedstride sketch 3", "sketch"); });
  };
  write_sealed(folder / "file", "fedstride sketch 3", body);
  CHECK(read_sealed(folder / "file", "fedstride sketch 3", "sketch") == body);
  const std::string whole = read_file(folder / "file");
  CHECK(whole == "fedstride sketch 3\n" + Hash().text(body).hex() + "\n" + body);
  for (const std::size_t at : {std::size_t{0}, std::size_t{20}, whole.size() - 1}) {
    std::string other = whole;
    other[at] ^= 1;
    CHECK(names(answer(other), {name, "damaged"}));
  }
  CHECK(names(answer(whole.substr(0, whole.size() - 1)), {name, "damaged"}));
  CHECK(names(answer(whole.substr(0, 60)), {name, "damaged"}));
  CHECK(names(answer(""), {name, "damaged"}));
  CHECK(names(answer("fedstride sketch 2\n" + whole), {name, "format 3"}));

  write_sealed(folder / "file", "fedstride sketch 3", "");
  CHECK(read_sealed(folder / "file", "fedstride sketch 3", "sketch").empty());
}

TEST_CASE("a user's own file beside an output stays, whatever its name") {
  const Folder folder;
  for (const char* mine :
       {"file.tmp", "file.fedstride-mine", "file.fedstride-0123456789abcde", "file.fedstride-0123456789abcdex"}) {
    append_line(folder / mine, "mine");
    write_file(folder / "file", "new");
    const FolderLock lock = locked(folder.path());
    CHECK(read_file(folder / mine) == "mine\n");
    CHECK(read_file(folder / "file") == "new");
  }
}

TEST_CASE("temporary names differ, and what killed processes left under them goes when the folder is locked") {
  const Folder folder;
  const Temporary first = make_temporary(folder / "file", 0600), second = make_temporary(folder / "file", 0600);
  CHECK(first.path != second.path);
  CHECK(is_temporary(first.path));
  CHECK_FALSE(is_temporary(folder / "file"));
  write_file(folder / "file", "new");
  CHECK(folder.entries() == 3);
  const FolderLock lock = locked(folder.path());
  CHECK(folder.entries() == 1);
}

}  // namespace
}  // namespace fedstride::test::files_test
