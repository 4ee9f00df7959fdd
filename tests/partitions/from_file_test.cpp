#include "partitions/from_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/files.hpp"
#include "core/npy.hpp"
#include "partitions/dirichlet.hpp"
#include "partitions/given_sizes.hpp"
#include "partitions/manifest.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::from_file_test {
namespace {

/// Reads `text` as mine.json, a partition of six rows (row 5 held out) over two clients.
ClientRows assigned(const TemporaryFolder& folder, const std::string& text) {
  const std::string path = folder / "mine.json";
  write_file(path, text);
  Example example({0, 1, 0, 1, 0, 1}, 2, 2);
  example.rows = {0, 1, 2, 3, 4};
  example.input.rows = example.rows;
  return FromFile({path}).assign(example.input);
}

}  // namespace

TEST_CASE("a row of two clients is refused with both, one that a client has twice with that client") {
  const TemporaryFolder folder;
  CHECK_FAILURE(assigned(folder, R"({"clients": [[0, 1], [2, 1, 3, 4]]})"), "client 1 ", "row 1", "client 0");
  CHECK_FAILURE(assigned(folder, R"({"clients": [[0, 4, 2], [1, 3, 2]]})"), "client 1 ", "row 2", "client 0");
  CHECK_FAILURE(assigned(folder, R"({"clients": [[0, 1], [2, 3, 4, 3]]})"), "client 1 ", "row 3 twice");
}

TEST_CASE("a file of row lists is the partition") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "mine.json").string();
  write_file(path, R"({"comment": "other keys are ignored", "clients": [[4, 0], [1, 3, 2]]})");
  Example example({0, 1, 0, 1, 0}, 2, 2);
  CHECK(FromFile({path}).assign(example.input) == Assignment{{0, 4}, {1, 2, 3}});
}

TEST_CASE("a manifest reads back as the partition it describes") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "partition.json").string();
  Example example(random_labels(2000, 10, 1), 10, 30);
  const auto assignment = Dirichlet{}.assign(example.input);
  write_file(path, manifest_json(Dirichlet{}, 1, assignment, example.labels, 10));
  CHECK(FromFile({path}).assign(example.input) == assignment);
}

TEST_CASE("a manifest with its lists beside it reads back as the partition it describes") {
  const TemporaryFolder folder;
  const std::string path = folder / "partition.json";
  Example example(random_labels(2000, 10, 1), 10, 30);
  const ClientRows assignment = Dirichlet{}.assign(example.input);
  write_manifest(path, Dirichlet{}, 1, assignment, example.labels, 10, 1999);
  CHECK(FromFile({path}).assign(example.input) == assignment);
  const Json json = parse_json(read_file(path));
  CHECK(json.at("clients") == 30);
  CHECK(json.at("hash") == partition_hash(assignment));
  CHECK_FALSE(json.contains("rows_per_class"));
  std::vector<std::size_t> sizes;
  for (const auto rows : assignment) sizes.push_back(rows.size());
  std::ranges::sort(sizes);
  CHECK(json.at("rows_per_client").at("least") == sizes.front());
  CHECK(json.at("rows_per_client").at("quartiles").at(1) == sizes[29 * 2 / 4]);
  CHECK(json.at("rows_per_client").at("most") == sizes.back());
  CHECK(json.at("classes_per_client").at("most") <= 10);

  // One row more to list is enough for the tables in the JSON itself.
  write_manifest(path, Dirichlet{}, 1, assignment, example.labels, 10, 2000);
  CHECK(parse_json(read_file(path)).at("clients").size() == 30);
}

TEST_CASE("a manifest of a partition that leaves rows out says how many, and reads back") {
  const TemporaryFolder folder;
  const std::string path = folder / "partition.json";
  Example example(random_labels(200, 10, 1), 10, 3);
  const ClientRows assignment = GivenSizes({"100,20,30"}).assign(example.input);
  for (const std::size_t most_listed : {std::size_t{1}, kMaxListed}) {
    write_manifest(path, GivenSizes({"100,20,30"}), 1, assignment, example.labels, 10, most_listed, 50);
    CHECK(FromFile({path}).assign(example.input) == assignment);
    write_manifest(path, GivenSizes({"100,20,30"}), 1, assignment, example.labels, 10, most_listed, 49);
    CHECK_FAILURE(FromFile({path}).assign(example.input), path, "50");
  }
}

TEST_CASE("a file may leave any number of rows out, if it says so") {
  const TemporaryFolder folder;
  CHECK(assigned(folder, R"({"clients": [[4, 0], [2]], "unused": "any"})") == Assignment{{0, 4}, {2}});
  CHECK_FAILURE(assigned(folder, R"({"clients": [[4, 0], [2]], "unused": "some"})"), "mine.json", "2", "row 1");
  CHECK_FAILURE(assigned(folder, R"({"clients": [[4, 0], [0]], "unused": "any"})"), "mine.json", "client 1", "row 0");
}

TEST_CASE("lists beside a manifest that are not its own are refused") {
  const TemporaryFolder folder;
  const std::vector<std::uint32_t> rows{0, 1, 2, 3, 4};
  const std::string beside = R"({"clients": 2, "rows": "r.npy", "sizes": "s.npy"})";
  using List = std::vector<std::uint32_t>;
  const auto listed = [&](const List& listed_rows, const List& sizes) {
    write_npy(folder / "r.npy", listed_rows);
    write_npy(folder / "s.npy", sizes);
    return assigned(folder, beside);
  };
  CHECK_NOTHROW(listed(rows, {2, 3}));
  CHECK_FAILURE(listed(rows, List{2, 2}), "mine.json", "5");
  CHECK_FAILURE(listed(rows, List{5, 4294967295U}), "mine.json", "5");
  CHECK_FAILURE(listed(rows, List{5, 0}), "mine.json", "client 1");
  CHECK_USAGE_ERROR(listed(rows, List{1, 2, 2}), "clients", "2", "mine.json", "3");
  CHECK_FAILURE(listed(List{0, 1, 2, 3, 6}, List{2, 3}), "mine.json", "client 1", "6", "0 to 5");
  CHECK_FAILURE(listed(List{0, 1, 2, 3, 3}, List{2, 3}), "mine.json", "client 1", "row 3");
  CHECK_FAILURE(assigned(folder, R"({"rows": "../r.npy", "sizes": "s.npy"})"), "mine.json", "rows");
  CHECK_FAILURE(assigned(folder, R"({"rows": "gone.npy", "sizes": "s.npy"})"), folder / "gone.npy", "No such file or directory");
}

TEST_CASE("files that are no partition of the training rows are refused with the reason") {
  const TemporaryFolder folder;
  CHECK_NOTHROW(assigned(folder, R"({"clients": [[0, 1], [2, 3, 4]]})"));
  CHECK_FAILURE(assigned(folder, R"({"clients": [[0, 1], )"), "mine.json", "JSON", "22");
  CHECK_FAILURE(assigned(folder, ""), "mine.json", "JSON", "1");
  CHECK_FAILURE(assigned(folder, "[[0, 1], [2, 3, 4]]"), "mine.json", "clients");
  CHECK_FAILURE(assigned(folder, R"({"clients": 3})"), "mine.json", "clients");
  CHECK_USAGE_ERROR(assigned(folder, R"({"clients": [[0], [1, 2], [3, 4]]})"), "clients", "2", "mine.json", "3");
  CHECK_FAILURE(assigned(folder, R"({"clients": [[0, 1, 2, 3, 4], []]})"), "mine.json", "client 1");
  CHECK_FAILURE(assigned(folder, R"({"clients": [[0, 1, 2, 3], 4]})"), "mine.json", "client 1");
  CHECK_FAILURE(assigned(folder, R"({"clients": [[0, 1, 2], [2, 3, 4]]})"), "mine.json", "client 1", "row 2");
  CHECK_FAILURE(assigned(folder, R"({"clients": [[0, 1], [2, 3, 4, 5]]})"), "mine.json", "client 1", "row 5");
  CHECK_FAILURE(assigned(folder, R"({"clients": [[0, 1], [2, 4]]})"), "mine.json", "1", "row 3");
  for (const std::string entry : {"6", "-1", "1.0", "\"1\"", "null", "4294967296", "1e3", "18446744073709551616"})
    CHECK_FAILURE(assigned(folder, "{\"clients\": [[0, " + entry + "], [2, 3, 4]]}"), "mine.json", "client 0", "0 to 5");
}

TEST_CASE("a missing file, no file, and a file far larger than any such partition are refused") {
  const TemporaryFolder folder;
  Example example({0, 1}, 2, 1);
  const std::string missing = (folder.path() / "missing.json").string();
  CHECK_FAILURE(FromFile({missing}).assign(example.input), missing, "No such file or directory");
  CHECK_USAGE_ERROR(FromFile{}.assign(example.input), "partition-file");
  CHECK_FAILURE(assigned(folder, "{\"clients\": [[0, 1], [2, 3, 4]]}" + std::string(2 << 20, ' ')), "mine.json");
  CHECK_FAILURE(assigned(folder, std::string(1 << 20, '[')), "mine.json", "JSON");  // deep nesting
}

}  // namespace fedstride::test::from_file_test
