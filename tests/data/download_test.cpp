#include "data/download.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <doctest/doctest.h>

#include <array>

#include "core/hash.hpp"
#include "tests/data/files.hpp"
#include "tests/data/http_server.hpp"

namespace fedstride::test::download_test {
namespace {

std::string sha256(std::string_view bytes) { return Hash().text(bytes).hex(); }

/// Bytes that differ everywhere, a few network reads long.
std::string bytes(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * i >> 3 ^ i);
  return text;
}

void no_progress(std::string_view, std::uint64_t, std::uint64_t) {}

std::string tar_gz(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string out(1 << 20, '\0');
  std::size_t used = 0;
  struct archive* writer = archive_write_new();
  archive_write_add_filter_gzip(writer);
  archive_write_set_format_ustar(writer);
  archive_write_open_memory(writer, out.data(), out.size(), &used);
  for (const auto& [name, contents] : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(contents.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(writer, entry);
    archive_write_data(writer, contents.data(), contents.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  out.resize(used);
  return out;
}

}  // namespace

TEST_CASE("a file is downloaded, checked, and reported on up to its last byte") {
  const TemporaryFolder folder;
  HttpServer server;
  const std::string body = bytes(300'000);
  server.serve("/f", {body});
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  download_file(server.url("/f"), folder / "f", sha256(body), [&](std::string_view name, std::uint64_t now, std::uint64_t all) {
    CHECK(name == "f");
    CHECK(now >= done);
    done = now;
    total = all;
  });
  CHECK(read(folder / "f") == body);
  CHECK(done == 300'000);
  CHECK(total == 300'000);
}

TEST_CASE("a download that broke off is continued where it stopped") {
  const TemporaryFolder folder;
  HttpServer server;
  const std::string body = bytes(100'000);
  server.serve("/f", {.body = body, .cut_after = 40'000});
  CHECK_FAILURE(download_file(server.url("/f"), folder / "f", sha256(body), no_progress), server.url("/f"), "40000");
  CHECK(read(folder / "f") == body.substr(0, 40'000));
  server.serve("/f", {body});
  download_file(server.url("/f"), folder / "f", sha256(body), no_progress);
  CHECK(read(folder / "f") == body);
  CHECK(server.requests() == std::vector<std::string>{"/f", "/f from 40000"});
}

TEST_CASE("where the server cannot continue, or what was there is wrong or too long, it begins anew") {
  const TemporaryFolder folder;
  HttpServer server;
  const std::string body = bytes(50'000);
  server.serve("/whole", {.body = body, .ranges = false});
  write(folder / "a", body.substr(0, 10'000));
  download_file(server.url("/whole"), folder / "a", sha256(body), no_progress);
  CHECK(read(folder / "a") == body);
  server.serve("/f", {body});
  write(folder / "b", "something else");
  download_file(server.url("/f"), folder / "b", sha256(body), no_progress);
  CHECK(read(folder / "b") == body);
  write(folder / "c", body + "and more");
  download_file(server.url("/f"), folder / "c", sha256(body), no_progress);
  CHECK(read(folder / "c") == body);
}

TEST_CASE("a file that is already there and right is not asked for") {
  const TemporaryFolder folder;
  HttpServer server;
  write(folder / "f", "right");
  download_file(server.url("/f"), folder / "f", sha256("right"), no_progress);
  CHECK(server.requests().empty());
}

TEST_CASE("another checksum, 404 and no server are errors of one line, and leave nothing") {
  const TemporaryFolder folder;
  HttpServer server;
  server.serve("/f", {"forged"});
  const std::string pin = sha256("right");
  CHECK_FAILURE(download_file(server.url("/f"), folder / "f", pin, no_progress), server.url("/f"), sha256("forged"), pin);
  CHECK_FAILURE(download_file(server.url("/g"), folder / "f", pin, no_progress), server.url("/g"), "404");
  std::string closed;
  {
    const HttpServer gone;
    closed = gone.url("/f");
  }
  CHECK_FAILURE(download_file(closed, folder / "f", pin, no_progress), closed);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a set in one archive: its files alone land in FOLDER/NAME, whatever folder they had") {
  const TemporaryFolder folder;
  HttpServer server;
  const std::string archive =
      tar_gz({{"set-bin/readme.html", "no"}, {"set-bin/a.bin", "AAA"}, {"../../b.bin", "BB"}, {"../evil", "x"}});
  server.serve("/set.tar.gz", {archive});
  const std::string sum = sha256(archive);
  const std::string a = sha256("AAA");
  const std::string b = sha256("BB");
  const std::string address = server.url("/set.tar.gz");
  const std::array files{OfficialFile{"a.bin", a}, OfficialFile{"b.bin", b}};
  const std::array downloads{OfficialDownload{address, "set.tar.gz", sum}};
  const OfficialSet set{"pictures", files, downloads, true};
  get_dataset(set, folder / "data", "", no_progress);
  CHECK(read(folder / "data/pictures/a.bin") == "AAA");
  CHECK(read(folder / "data/pictures/b.bin") == "BB");
  CHECK(is_official(set, folder / "data/pictures"));
  CHECK(!std::filesystem::exists(folder / "data/.pictures.download"));
  CHECK(!std::filesystem::exists(folder / "data/evil"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "data/pictures"), {}) == 2);

  write(folder / "data/pictures/a.bin", "damaged");
  CHECK(!is_official(set, folder / "data/pictures"));
  get_dataset(set, folder / "data", "", no_progress);
  CHECK(read(folder / "data/pictures/a.bin") == "AAA");
}

TEST_CASE("an archive that lacks a file is an error, and what was in place stays as it was") {
  const TemporaryFolder folder;
  HttpServer server;
  const std::string archive = tar_gz({{"a.bin", "new"}});
  server.serve("/set.tar.gz", {archive});
  const std::string sum = sha256(archive);
  const std::string address = server.url("/set.tar.gz");
  const std::array files{OfficialFile{"a.bin", ""}, OfficialFile{"b.bin", ""}};
  const std::array downloads{OfficialDownload{address, "set.tar.gz", sum}};
  write(folder / "pictures/a.bin", "old");
  CHECK_FAILURE(get_dataset({"pictures", files, downloads, true}, folder.path(), "", no_progress), "'b.bin'");
  CHECK(read(folder / "pictures/a.bin") == "old");
}

TEST_CASE("a set of several files is moved into place only when all are right; a mirror is the folder that holds them") {
  const TemporaryFolder folder;
  HttpServer server;
  const std::string one = gzipped("one");
  const std::string two = gzipped("two");
  const std::array sums{sha256(one), sha256(two), sha256("one"), sha256("two")};
  const std::array files{OfficialFile{"one", sums[2]}, OfficialFile{"two", sums[3]}};
  const std::array downloads{OfficialDownload{"http://nowhere.invalid/one.gz", "one.gz", sums[0]},
                             OfficialDownload{"http://nowhere.invalid/two.gz", "two.gz", sums[1]}};
  const OfficialSet set{"digits", files, downloads};
  server.serve("/mirror/one.gz", {one});
  server.serve("/mirror/two.gz", {"forged"});
  CHECK_FAILURE(get_dataset(set, folder.path(), server.url("/mirror"), no_progress), server.url("/mirror/two.gz"), "SHA-256");
  CHECK(!std::filesystem::exists(folder / "digits"));
  server.serve("/mirror/two.gz", {two});
  get_dataset(set, folder.path(), server.url("/mirror/"), no_progress);
  CHECK(is_official(set, folder / "digits"));
  CHECK(server.requests() == std::vector<std::string>{"/mirror/one.gz", "/mirror/two.gz", "/mirror/two.gz"});
}

TEST_CASE("files that differ from the published ones are named, and after a download none hides the published ones") {
  const TemporaryFolder folder;
  HttpServer server;
  const std::string one = gzipped("one");
  const std::array sums{sha256(one), sha256("one")};
  const std::array files{OfficialFile{"one", sums[1]}};
  const std::array downloads{OfficialDownload{"http://nowhere.invalid/one.gz", "one.gz", sums[0]}};
  const OfficialSet set{"digits", files, downloads};
  CHECK(unofficial_files(set, folder / "digits").empty());  // none is there
  write(folder / "digits/one", "another");                  // is read rather than one.gz
  write(folder / "digits/mine", "stays");
  CHECK(unofficial_files(set, folder / "digits") == std::vector<std::filesystem::path>{folder / "digits/one"});
  server.serve("/one.gz", {one});
  get_dataset(set, folder.path(), server.url("/"), no_progress);
  CHECK(is_official(set, folder / "digits"));
  CHECK(unofficial_files(set, folder / "digits").empty());
  CHECK(!std::filesystem::exists(folder / "digits/one"));
  CHECK(read(folder / "digits/mine") == "stays");
}

TEST_CASE("a failed attempt that fetched nothing leaves no folder behind") {
  const TemporaryFolder folder;
  HttpServer server;
  const std::string address = server.url("/none");
  const std::array files{OfficialFile{"a", ""}};
  const std::array downloads{OfficialDownload{address, "a", ""}};
  CHECK_FAILURE(get_dataset({"x", files, downloads}, folder.path(), "", no_progress), "404");
  CHECK(std::filesystem::is_empty(folder.path()));
}

}  // namespace fedstride::test::download_test
