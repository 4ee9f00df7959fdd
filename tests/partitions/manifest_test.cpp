#include "partitions/manifest.hpp"

#include <doctest/doctest.h>

#include "partitions/from_file.hpp"
#include "partitions/interpolated.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::manifest_test {
namespace {

std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::vector<std::vector<std::size_t>> table_of(std::size_t clients, std::size_t classes) {
  return {clients, std::vector<std::size_t>(classes, 7)};
}

}  // namespace

TEST_CASE("rows are counted per class per client") {
  const std::vector<std::uint16_t> labels = {0, 1, 2, 1, 1, 0, 0};
  CHECK(rows_per_class(Assignment{{0, 1, 3}, {2, 4, 5, 6}}, labels, 4) ==
        std::vector<std::vector<std::size_t>>{{1, 2, 0, 0}, {2, 1, 1, 0}});
}

TEST_CASE("the manifest names part, settings, seed, hash, counts and rows") {
  const std::vector<std::uint16_t> labels = {0, 1, 1, 0};
  const Assignment assignment = {{0, 1, 2}, {3}};
  const std::string text = manifest_json(Interpolated({.random_fraction = 0.25}), 18446744073709551615ULL, assignment, labels, 2);
  const auto json = Json::parse(text);
  for (const auto line : split(text, '\n'))  // by two spaces, as all files that people read
    if (!line.empty()) CHECK(line.find_first_not_of(' ') % 2 == 0);
  CHECK(json["partition"] == "interpolated");
  CHECK(json["settings"]["random-fraction"] == 0.25);
  CHECK(json["settings"]["classes-per-client"] == "auto");
  CHECK(json["seed"] == 18446744073709551615ULL);
  CHECK(json["hash"] == partition_hash(assignment));
  CHECK(json["rows_per_class"] == Json{{1, 2}, {1, 0}});
  CHECK(json["clients"] == Json{{0, 1, 2}, {3}});
}

TEST_CASE("a file name that is not UTF-8 does not keep the manifest from being JSON") {
  const std::vector<std::uint16_t> labels = {0};
  CHECK(Json::accept(manifest_json(FromFile({"a\xff\"b"}), 1, Assignment{{0}}, labels, 1)));
}

TEST_CASE("the hash tells apart who holds what, and where one client ends") {
  const std::string hash = partition_hash(Assignment{{0, 1}, {2}});
  CHECK(hash.size() == 64);
  CHECK(partition_hash(Assignment{{0, 1}, {2}}) == hash);
  CHECK(partition_hash(Assignment{{0}, {1, 2}}) != hash);
  CHECK(partition_hash(Assignment{{2}, {0, 1}}) != hash);
  CHECK(partition_hash(Assignment{{0, 1, 2}}) != hash);
}

TEST_CASE("the heat map shades each class's share and prints the counts of ten classes") {
  const std::vector<std::string> names = {"plane", "car"};
  CHECK(heat_map({{100, 0}, {25, 51}}, names) ==
        "client      rows  plane   car \n"
        "     0       100    100█     ·\n"
        "     1        76     25░   51▓\n");
}

TEST_CASE("the heat map fits 80 columns for one class, ten, a hundred and a thousand, and for many clients") {
  for (const std::size_t classes : {1, 2, 10, 11, 26, 62, 63, 100, 1000})
    for (const std::size_t clients : {1, 40, 41, 1000}) {
      const std::string text = heat_map(table_of(clients, classes), {});
      std::size_t lines = 0;
      for (const auto line : split(text, '\n')) {
        CHECK(columns(line) <= 80);
        ++lines;
      }
      CHECK(lines <= 43);  // heading, forty clients or twenty and a summary, and the empty piece at the end
    }
}

TEST_CASE("of more than forty clients the first twenty are shown, then quantiles over all") {
  std::vector<std::vector<std::size_t>> table;
  for (std::size_t client = 0; client < 101; ++client) table.push_back({client, client % 2});
  const std::string text = heat_map(table, {});
  CHECK(text.find(" 81 ") != std::string::npos);
  // Sizes are 0, 2, 2, 4, 4, ..., 100, 100: the middle of 101 is the 51st.
  CHECK(text.find("26, 50, 76") != std::string::npos);
  CHECK(text.find("1, 1, 2") != std::string::npos);
}

TEST_CASE("no class name is cut: those too long for their columns are listed by number, in lines of 80 columns") {
  const std::vector<std::string> few = {"écureuil", "x"};
  CHECK(heat_map({{1, 1}}, few) ==
        "classes: 0 écureuil, 1 x\n"
        "client      rows      0     1 \n"
        "     0         2      1█    1█\n");
  CHECK(heat_map({{1, 1}}, std::vector<std::string>{"écran", "x"}).starts_with("client      rows  écran     x \n"));
  std::vector<std::string> many;
  for (int i = 0; i < 10; ++i) many.push_back("a class of some length " + std::to_string(i));
  const std::string text = heat_map(table_of(1, 10), many);
  for (const auto& name : many) CHECK(text.find(name) != std::string::npos);
  for (const auto line : split(text, '\n')) CHECK(columns(line) <= 80);
}

}  // namespace fedstride::test::manifest_test
