#include "sweep/results/csv.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/support/csv_table.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::csv_test {

TEST_CASE("fields are quoted where RFC 4180 asks for it, and numbers read back as the same numbers") {
  const test::TemporaryFolder folder;
  CsvFile file(folder / "t.csv", {"a", "b,c"});
  file.text("plain").text("says \"x\", and\nmore");
  file.number(0.1).number(std::numeric_limits<double>::quiet_NaN());
  file.whole(18446744073709551615u).nothing();
  file.number(1e-5).number(-std::numeric_limits<double>::infinity());
  file.finish();
  CHECK(read_file(folder / "t.csv") == "a,\"b,c\"\nplain,\"says \"\"x\"\", and\nmore\"\n0.1,\n18446744073709551615,\n1e-05,\n");
}

TEST_CASE("what was written is read again, field by field") {
  const test::TemporaryFolder folder;
  const std::vector<std::string> fields{"", "\"", "\"\"", ",", "\n", "\r\n", " space ", "ä€", "a\"b", "="};
  CsvFile file(folder / "t.csv", {"one", "two"});
  for (const auto& one : fields)
    for (const auto& two : fields) file.text(one).text(two);
  file.finish();
  const CsvTable table = read_csv(folder / "t.csv");
  CHECK(table.columns == std::vector<std::string>{"one", "two"});
  REQUIRE(table.rows.size() == fields.size() * fields.size());
  std::size_t row = 0;
  for (const auto& one : fields)
    for (const auto& two : fields) CHECK(table.rows[row++] == std::vector<std::string>{one, two});
}

TEST_CASE("other programs' files: line ends of Windows, no end of the last line") {
  const CsvTable table = parse_csv("a,b\r\n1,\"2\"\r\n3,4", "t.csv");
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0] == std::vector<std::string>{"1", "2"});
  CHECK(table.rows[1] == std::vector<std::string>{"3", "4"});
  CHECK(table.column("b") == 1);
  CHECK_FAILURE(table.column("c"), "'c'", "a", "b");
}

TEST_CASE("a table that is none is refused with its line") {
  CHECK_FAILURE(parse_csv("a,b\n1,2\n3\n", "t.csv"), "'t.csv'", "line 3", "1", "2");
  CHECK_FAILURE(parse_csv("a,b\n1,\"2\n", "t.csv"), "'t.csv'", "line 3");
  CHECK_FAILURE(parse_csv("a,b\n1,x\"y\n", "t.csv"), "'t.csv'", "line 2");
  CHECK_FAILURE(parse_csv("a,b\n\"1\"x,2\n", "t.csv"), "'t.csv'", "line 2");
  CHECK_NOTHROW(parse_csv("", "t.csv"));
}

TEST_CASE("a table replaces its predecessor whole, or not at all") {
  const test::TemporaryFolder folder;
  write_file(folder / "t.csv", "old\n");
  {
    CsvFile file(folder / "t.csv", {"a"});
    file.whole(1);
  }
  CHECK(read_file(folder / "t.csv") == "old\n");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) CHECK(entry.path().filename() == "t.csv");
  CsvFile file(folder / "t.csv", {"a"});
  file.whole(1);
  CHECK(read_file(folder / "t.csv") == "old\n");
  file.finish();
  CHECK(read_file(folder / "t.csv") == "a\n1\n");
  CHECK_THROWS_AS(CsvFile(folder / "none/t.csv", {"a"}), Error);
}

}  // namespace fedstride::test::csv_test
