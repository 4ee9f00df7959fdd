#include "data/files/csv_records.hpp"

#include <doctest/doctest.h>

#include "tests/data/files.hpp"

namespace fedstride::test::csv_records_test {
namespace {

using Records = std::vector<std::vector<std::string>>;

Records records(std::string_view text) {
  const TemporaryFolder folder;
  CsvRecords from(write(folder / "t.csv", text));
  std::vector<std::string_view> fields;
  Records all;
  while (from.next(fields)) all.emplace_back(fields.begin(), fields.end());
  return all;
}

const Records kTwo{{"a", "b"}, {"1", "2"}};

}  // namespace

TEST_CASE("lines end with LF, CR LF or CR, the last one need not, and blank ones are passed over") {
  for (const std::string end : {"\n", "\r\n", "\r"})
    for (const std::string& last : {std::string(), end})
      for (const std::string& blank : {std::string(), end, "  " + end + end})
        CHECK(records(blank + "a,b" + end + blank + "1,2" + last) == kTwo);
  CHECK(records("a,b\r1,2\n\r\n3,4\r\n") == Records{{"a", "b"}, {"1", "2"}, {"3", "4"}});
}

TEST_CASE("a byte order mark is no part of the first field, quoted or not; UTF-16 is refused by name") {
  for (const std::string text : {"a,b\n1,2\n", "\"a\",b\n1,2\n", "\na,b\n1,2\n"}) {
    CHECK(records("\xef\xbb\xbf" + text) == kTwo);
    CHECK(records(gzipped("\xef\xbb\xbf" + text)) == kTwo);
  }
  for (const std::string_view mark : {"\xff\xfe", "\xfe\xff"})
    CHECK_FAILURE(records(std::string(mark) + std::string("a\0,\0b\0", 6)), "t.csv", "UTF-16", "UTF-8");
}

TEST_CASE("a quoted field holds separators, line breaks as blanks and doubled quotes") {
  CHECK(records("a,b\n\"1,5\",\"x;y\tz\"\n")[1] == std::vector<std::string>{"1,5", "x;y\tz"});
  for (const std::string end : {"\n", "\r\n", "\r"})
    CHECK(records("a,b\n\"x" + end + "y\",2\n")[1] == std::vector<std::string>{"x y", "2"});
  CHECK(records("a,b\n\"say \"\"hi\"\"\",\"\"\"\"\n")[1] == std::vector<std::string>{"say \"hi\"", "\""});
  CHECK(records("a,b\n \"1\" , \"\"\n")[1] == std::vector<std::string>{"1", ""});
  CHECK(records("a,b\n5\" disk,6\"\n")[1] == std::vector<std::string>{"5\" disk", "6\""});  // not at its beginning
}

TEST_CASE("a quote that is not closed, or has text behind it, is an error with the line on which the record begins") {
  CHECK_FAILURE(records("a,b\n\"x\ny\",2\n1,\"2\n3,4\n"), "t.csv", "line 4", "field 2", "quote");
  CHECK_FAILURE(records("a,b\n1,2\n\"x\"y,2\n"), "t.csv", "line 3", "field 1", "quote");
  CHECK_FAILURE(records("a,b\n\"" + std::string(CsvRecords::kMaxRecordBytes, 'x') + "\",2\n"), "t.csv", "line 2", "1048576",
                "quote");
  CHECK_FAILURE(records(std::string("a,b\n\"\0\",2\n", 11)), "t.csv", "NUL");
}

TEST_CASE("the separator is that of the first record outside of quotes, and commas between digits are none if there are tabs") {
  CHECK(records("\"a;x\",b\n1,2\n")[0] == std::vector<std::string>{"a;x", "b"});
  CHECK(records("\"a,x\"\tb\n1\t2\n")[0] == std::vector<std::string>{"a,x", "b"});
  CHECK(records("a,x;b\n1;2\n")[0] == std::vector<std::string>{"a,x", "b"});
  CHECK(records("1,5\t2,5\n")[0] == std::vector<std::string>{"1,5", "2,5"});
  CHECK(records("1,\t2\n")[0] == std::vector<std::string>{"1", "2"});
  CHECK(records("name, first\tage\n")[0] == std::vector<std::string>{"name", "first\tage"});
}

TEST_CASE("records longer than what is read at once are whole") {
  std::string line(300'000, 'x');
  for (int i = 0; i < 5; ++i) CHECK(records(line.substr(i) + ",2\n\"" + line + "\",3")[1] == std::vector<std::string>{line, "3"});
}

}  // namespace fedstride::test::csv_records_test
