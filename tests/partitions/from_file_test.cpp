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

namespace fedstride::test::from_file_test {
namespace {

// The message of reading `text` as a partition of six rows (row 5 held out) over two clients.
std::string refusal(const TemporaryFolder& folder, const std::string& text) {
  const std::string path = (folder.path() / "mine.json").string();
  write_file(path, text);
  Example example({0, 1, 0, 1, 0, 1}, 2, 2);
  example.rows = {0, 1, 2, 3, 4};
  example.input.rows = example.rows;
  try {
    FromFile{path}.assign(example.input);
  } catch (const Error& error) {
    std::string message = error.what();
    const auto at = message.find(path);
    return at == std::string::npos ? message : message.replace(at, path.size(), "FILE");
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a file of row lists is the partition") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "mine.json").string();
  write_file(path, R"({"comment": "other keys are ignored", "clients": [[4, 0], [1, 3, 2]]})");
  Example example({0, 1, 0, 1, 0}, 2, 2);
  CHECK(FromFile{path}.assign(example.input) == Assignment{{0, 4}, {1, 2, 3}});
}

TEST_CASE("a manifest reads back as the partition it describes") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "partition.json").string();
  Example example(random_labels(2000, 10, 1), 10, 30);
  const auto assignment = Dirichlet{}.assign(example.input);
  write_file(path, manifest_json(Dirichlet{}, 1, assignment, example.labels, 10));
  CHECK(FromFile{path}.assign(example.input) == assignment);
}

TEST_CASE("a manifest with its lists beside it reads back as the partition it describes") {
  const TemporaryFolder folder;
  const std::string path = folder / "partition.json";
  Example example(random_labels(2000, 10, 1), 10, 30);
  const ClientRows assignment = Dirichlet{}.assign(example.input);
  write_manifest(path, Dirichlet{}, 1, assignment, example.labels, 10, 1999);
  CHECK(FromFile{path}.assign(example.input) == assignment);
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
  const ClientRows assignment = GivenSizes{"100,20,30"}.assign(example.input);
  for (const std::size_t most_listed : {std::size_t{1}, kMaxListed}) {
    write_manifest(path, GivenSizes{"100,20,30"}, 1, assignment, example.labels, 10, most_listed, 50);
    CHECK(FromFile{path}.assign(example.input) == assignment);
    write_manifest(path, GivenSizes{"100,20,30"}, 1, assignment, example.labels, 10, most_listed, 49);
    CHECK_THROWS_WITH_AS(FromFile{path}.assign(example.input), doctest::Contains("50 training rows are missing"), Error);
  }
}

TEST_CASE("lists beside a manifest that are not its own are refused") {
  const TemporaryFolder folder;
  const std::vector<std::uint32_t> rows{0, 1, 2, 3, 4};
  const std::string beside = R"({"clients": 2, "rows": "r.npy", "sizes": "s.npy"})";
  const auto refused = [&](const std::vector<std::uint32_t>& listed, const std::vector<std::uint32_t>& sizes) {
    write_npy(folder / "r.npy", listed);
    write_npy(folder / "s.npy", sizes);
    return refusal(folder, beside);
  };
  CHECK(refused(rows, {2, 3}) == "accepted");
  CHECK(refused(rows, {2, 2}) ==
        "'FILE': its clients' sizes do not add up to the 5 rows beside it; the three files must be of one partition");
  CHECK(refused(rows, {5, 4294967295U}).find("do not add up") != std::string::npos);
  CHECK(refused(rows, {5, 0}) == "'FILE': client 1 has no rows; it must be a list of at least one");
  CHECK(refused(rows, {1, 2, 2}) == "clients is 2; 'FILE' needs it to be 3");
  CHECK(refused({0, 1, 2, 3, 6}, {2, 3}) == "'FILE': client 1 has the row 6; rows are whole numbers from 0 to 5");
  CHECK(refused({0, 1, 2, 3, 3}, {2, 3}) == "'FILE': client 1 has row 3 a second time; each row belongs to one client, once");
  CHECK(refusal(folder, R"({"rows": "../r.npy", "sizes": "s.npy"})") ==
        "'FILE' names no file \"rows\" beside it; it must be {\"clients\": [[row, ...], ...]}");
  CHECK(refusal(folder, R"({"rows": "gone.npy", "sizes": "s.npy"})").find("cannot read") != std::string::npos);
}

TEST_CASE("files that are no partition of the training rows are refused with the reason") {
  const TemporaryFolder folder;
  CHECK(refusal(folder, R"({"clients": [[0, 1], [2, 3, 4]]})") == "accepted");
  CHECK(refusal(folder, R"({"clients": [[0, 1], )") ==
        "'FILE' is not JSON (from byte 22); it must be {\"clients\": [[row, ...], ...]}");
  CHECK(refusal(folder, "") == "'FILE' is not JSON (from byte 1); it must be {\"clients\": [[row, ...], ...]}");
  CHECK(refusal(folder, "[[0, 1], [2, 3, 4]]") == "'FILE' has no list \"clients\"; it must be {\"clients\": [[row, ...], ...]}");
  CHECK(refusal(folder, R"({"clients": 3})") == "'FILE' has no list \"clients\"; it must be {\"clients\": [[row, ...], ...]}");
  CHECK(refusal(folder, R"({"clients": [[0], [1, 2], [3, 4]]})") == "clients is 2; 'FILE' needs it to be 3");
  CHECK(refusal(folder, R"({"clients": [[0, 1, 2, 3, 4], []]})") ==
        "'FILE': client 1 has no rows; it must be a list of at least one");
  CHECK(refusal(folder, R"({"clients": [[0, 1, 2, 3], 4]})") ==
        "'FILE': client 1 has no rows; it must be a list of at least one");
  CHECK(refusal(folder, R"({"clients": [[0, 1, 2], [2, 3, 4]]})") ==
        "'FILE': client 1 has row 2 a second time; each row belongs to one client, once");
  CHECK(refusal(folder, R"({"clients": [[0, 1], [2, 3, 4, 5]]})") ==
        "'FILE': client 1 has row 5, which is not a training row (held out for validation?)");
  CHECK(refusal(folder, R"({"clients": [[0, 1], [2, 4]]})") ==
        "'FILE': 1 training rows are missing, row 3 first; each row belongs to one client");
  for (const std::string entry : {"6", "-1", "1.0", "\"1\"", "null", "4294967296", "1e3", "18446744073709551616"})
    CHECK(refusal(folder, "{\"clients\": [[0, " + entry + "], [2, 3, 4]]}").find("; rows are whole numbers from 0 to 5") !=
          std::string::npos);
}

TEST_CASE("a missing file, no file, and a file far larger than any such partition are refused") {
  const TemporaryFolder folder;
  Example example({0, 1}, 2, 1);
  const std::string missing = (folder.path() / "missing.json").string();
  const std::string expected = "cannot read '" + missing + "': No such file or directory";
  CHECK_THROWS_WITH_AS(FromFile{missing}.assign(example.input), expected.c_str(), Error);
  CHECK_THROWS_WITH(FromFile{}.assign(example.input),
                    "partition-file is empty; it must name a JSON file {\"clients\": [[row, ...], ...]}");
  CHECK(refusal(folder, "{\"clients\": [[0, 1], [2, 3, 4]]}" + std::string(2 << 20, ' ')).find("is larger than the") !=
        std::string::npos);
  CHECK(refusal(folder, std::string(1 << 20, '[')).find("is not JSON") != std::string::npos);  // deep nesting
}

}  // namespace fedstride::test::from_file_test
