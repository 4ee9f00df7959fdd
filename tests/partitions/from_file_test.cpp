#include "partitions/from_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "core/files.hpp"
#include "partitions/manifest.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/folder.hpp"

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
