#include "partitions/own_rows.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::own_rows_test {
namespace {

std::string hash_of(char digit) { return std::string(64, digit); }

std::string line(std::uint32_t client, std::uint64_t rows, char digit) { return roster_line(client, {rows, hash_of(digit)}); }

std::vector<RosterLine> roster_of(const std::string& text, int clients) {
  const TemporaryFolder folder;
  write_file(folder.path() / "roster.jsonl", text);
  return read_roster(folder / "roster.jsonl", clients);
}

}  // namespace

TEST_CASE("a roster's lines are read back in the order of the clients, whatever theirs is") {
  const TemporaryFolder folder;
  write_file(folder.path() / "roster.jsonl", line(2, 30, 'c') + "\n\n" + line(0, 10, 'a') + "\n" + line(1, 1000000000, 'b'));
  const auto roster = read_roster(folder / "roster.jsonl", 3);
  REQUIRE(roster.size() == 3);
  CHECK(roster[0].rows == 10);
  CHECK(roster[1].rows == 1000000000);
  CHECK(roster[2].rows == 30);
  CHECK(roster[2].data_hash == hash_of('c'));
}

TEST_CASE("what is no line of a roster is refused by its number") {
  const std::string good = line(0, 10, 'a') + "\n";
  const std::string bad_lines[] = {"{",
                                   "[]",
                                   "7",
                                   "{\"client\": 1, \"rows\": 5}",
                                   "{\"client\": 1.5, \"rows\": 5, \"data\": \"" + hash_of('a') + "\"}",
                                   "{\"client\": -1, \"rows\": 5, \"data\": \"" + hash_of('a') + "\"}",
                                   "{\"client\": 1, \"rows\": \"5\", \"data\": \"" + hash_of('a') + "\"}",
                                   "{\"client\": 1, \"rows\": 5, \"data\": \"" + hash_of('g') + "\"}",
                                   "{\"client\": 1, \"rows\": 5, \"data\": \"" + hash_of('a') + "a\"}",
                                   "{\"client\": 1, \"rows\": 5, \"data\": 7}"};
  for (const std::string& bad : bad_lines) {
    CAPTURE(bad);
    CHECK_FAILURE(roster_of(good + bad, 2), "roster.jsonl", "line 2");
  }
  CHECK_FAILURE(roster_of(good + line(2, 5, 'b'), 2), "line 2", "client is 2", "0 to 1");
  CHECK_FAILURE(roster_of(good + line(1, 0, 'b'), 2), "line 2", "rows", "0", "1 to 1000000000");
  CHECK_FAILURE(roster_of(good + line(1, 1000000001, 'b'), 2), "rows", "1000000001");
  CHECK_FAILURE(roster_of(good + good, 2), "line 2", "client 0");
}

TEST_CASE("a line counts users by their rows, which add up") {
  const RosterLine known{.rows = 11, .data_hash = hash_of('a'), .columns = {"age"}, .users = {{1, 3}, {2, 4}}};
  const std::string text = roster_line(0, known);
  CHECK(text.ends_with(R"("users": {"1":3,"2":4}})"));
  CHECK(roster_of(text, 1)[0].users == known.users);
  CHECK(roster_of(line(0, 10, 'a'), 1)[0].users.empty());
  const std::string before = text.substr(0, text.find(R"("users")")) + R"("users": )";
  for (const char* users : {"{}", "[]", "3", R"({"1": 3})", R"({"1": 3, "2": 5})", R"({"0": 3, "11": 1})", R"({"x": 11})",
                            R"({"1": -11})", R"({"12": 1})", R"({"1": 1e30})", R"({"11": 1, "10": 1, "9": 1})"}) {
    CAPTURE(users);
    CHECK_FAILURE(roster_of(before + users + "}", 1), "line 1", "users");
  }
}

TEST_CASE("a roster of fewer clients, a huge one, none and a missing one are refused") {
  CHECK_USAGE_ERROR(roster_of(line(0, 10, 'a'), 2), "clients", "2", "roster.jsonl", "1");
  CHECK_USAGE_ERROR(roster_of("", 1), "clients", "1", "roster.jsonl", "0");
  CHECK_FAILURE(roster_of(std::string(2'000'000, '\n'), 1), "roster.jsonl");
  CHECK_USAGE_ERROR(read_roster("", 1), "roster", "''", "'own'");
  CHECK_THROWS_AS(read_roster("/nowhere/roster.jsonl", 1), Error);
}

TEST_CASE("rows that clients bring are not dealt out") {
  Example example(random_labels(20, 2, 1), 2, 2);
  CHECK_USAGE_ERROR(OwnRows{}.assign(example.input), "partition", "'own'");
}

}  // namespace fedstride::test::own_rows_test
