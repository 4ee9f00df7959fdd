#include "core/json.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace fedstride::test::json_test {
namespace {

using Library = nlohmann::ordered_json;

std::string library_text(const Library& json, int indent) {
  return json.dump(indent, ' ', false, Library::error_handler_t::replace);
}

// A random value, the same in both forms.
std::pair<Json, Library> random_value(std::mt19937_64& random, int depth) {
  const auto text = [&] {
    std::string bytes;
    for (auto left = random() % 6; left > 0; --left) bytes += random() % 4 == 0 ? static_cast<char>(random() % 256) : 'a';
    return bytes;
  };
  switch (random() % (depth > 0 ? 9 : 7)) {
    case 0:
      return {nullptr, nullptr};
    case 1:
      return {true, true};
    case 2: {
      const auto value = static_cast<std::int64_t>(random());
      return {value, value};
    }
    case 3: {
      const std::uint64_t value = random();
      return {value, value};
    }
    case 4: {
      const double value = std::ldexp(static_cast<double>(random() % 100'000) - 5e4, static_cast<int>(random() % 200) - 100);
      return {value, value};
    }
    case 5: {
      const double value = static_cast<double>(random() % 1000) / 8;
      return {value, value};
    }
    case 6: {
      const std::string value = text();
      return {value, value};
    }
    case 7: {
      std::pair<Json, Library> list{Json::array(), Library::array()};
      for (auto left = random() % 4; left > 0; --left) {
        auto [ours, theirs] = random_value(random, depth - 1);
        list.first.push_back(std::move(ours));
        list.second.push_back(std::move(theirs));
      }
      return list;
    }
    default: {
      std::pair<Json, Library> object{Json::object(), Library::object()};
      for (auto left = random() % 30; left > 0; --left) {
        const std::string key = text();
        auto [ours, theirs] = random_value(random, depth - 1);
        object.first[key] = std::move(ours);
        object.second[key] = std::move(theirs);
      }
      return object;
    }
  }
}

TEST_CASE("random values have the library's text, and parse to what they were") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto [ours, theirs] = random_value(random, 3);
    for (const int indent : {-1, 0, 2}) CHECK(dump_json(ours, indent) == library_text(theirs, indent));
    const std::string text = library_text(theirs, -1);
    CHECK(dump_json(parse_json(text)) == library_text(Library::parse(text), -1));
    CHECK(parse_json(dump_json(ours)) == parse_json(text));
    CHECK(Json(ours) == ours);
  }
}

TEST_CASE("braces make objects of pairs and lists of everything else") {
  const std::vector<double> numbers{1, 2.5};
  const Json json{{"a", 1}, {"b", {1, 2}}, {"c", numbers}, {"d", {{"e", nullptr}}}, {"f", Json::array({{"g", 1}})}};
  CHECK(dump_json(json) == R"({"a":1,"b":[1,2],"c":[1.0,2.5],"d":{"e":null},"f":[["g",1]]})");
  CHECK(dump_json(Json(std::map<std::string, std::string>{{"z", "1"}, {"y", "2"}})) == R"({"y":"2","z":"1"})");
  CHECK(json["b"][1].get<int>() == 2);
  CHECK(json["c"].get<std::vector<double>>() == numbers);
}

TEST_CASE("members stay in order, past the keys that are looked through one by one; erased ones are gone") {
  Json json;
  for (int i = 0; i < 100; ++i) json["key" + std::to_string(99 - i)] = i;
  for (int i = 0; i < 100; ++i) CHECK(json.at("key" + std::to_string(i)) == 99 - i);
  CHECK(!json.contains("key100"));
  for (int i = 0; i < 95; ++i) json.erase("key" + std::to_string(i));
  json.erase("key100");
  CHECK(dump_json(json) == R"({"key99":0,"key98":1,"key97":2,"key96":3,"key95":4})");
  json.update({{"key97", "new"}, {"key1", true}});
  CHECK(dump_json(json) == R"({"key99":0,"key98":1,"key97":"new","key96":3,"key95":4,"key1":true})");
  const Json copy = json;
  json["key99"] = 7;
  CHECK(copy["key99"] == 0);
  CHECK(copy.value("none", "other") == "other");
}

TEST_CASE("numbers are equal by value") {
  CHECK(Json(1) == Json(1U));
  CHECK(Json(1) == Json(1.0));
  CHECK(Json(-1) != Json(std::numeric_limits<std::uint64_t>::max()));
  CHECK(parse_json("3").is_number_unsigned());
  CHECK(!parse_json("-3").is_number_unsigned());
  CHECK(parse_json("-3").get<int>() == -3);
  CHECK(parse_json("18446744073709551615").get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max());
  CHECK(dump_json(Json(NAN)) == "null");
}

TEST_CASE("a text that is no JSON is told, with the byte; so is a value of another kind") {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1", "nul", "\"\xff\"", "1e999", "[1] 2"}) {
    CHECK(parse_json(text).is_null());
    CHECK_THROWS_AS(parse_json_or_throw(text), JsonError);
  }
  try {
    parse_json_or_throw("[1e999]");
    FAIL("a number out of range was read");
  } catch (const JsonError& error) {
    CHECK(error.out_of_range);
    CHECK(error.byte == 6);
  }
  const Json json = parse_json(R"({"a": 1, "a": [2, true]})");
  CHECK(json.size() == 1);
  CHECK(json["a"][0] == 2);
  CHECK_THROWS_AS(json["b"], JsonError);
  CHECK_THROWS_AS(json["a"][2], JsonError);
  CHECK_THROWS_AS(json["a"].text(), JsonError);
  CHECK_THROWS_AS(json["a"][1].get<int>(), JsonError);
  CHECK_THROWS_AS(json["a"][0].get<bool>(), JsonError);
  CHECK_THROWS_AS(json["a"].value("x", 1), JsonError);
}

TEST_CASE("a text that nests a million lists is read and forgotten") {
  const std::string text = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK(parse_json(text).is_array());
  CHECK(parse_json(std::string(1'000'000, '[')).is_null());
}

TEST_CASE("who derives from the tree sees keys that stand twice, and each object and array before it begins") {
  struct Tree final : JsonTree {
    void key(std::string& name) override {
      if (stands_already(name)) twice.push_back(std::to_string(depth()) + name);
      JsonTree::key(name);
    }
    void open(Json value) override {
      begun.push_back(depth());
      JsonTree::open(std::move(value));
    }
    std::vector<std::string> twice;
    std::vector<std::size_t> begun;
  } tree;
  parse_json(R"({"a": {"b": 1, "b": 2}, "b": 3, "a": [{"a": 4}]})", tree);
  CHECK(tree.twice == std::vector<std::string>{"2b", "1a"});
  CHECK(tree.begun == std::vector<std::size_t>{0, 1, 1, 2});
  CHECK(dump_json(tree.root()) == R"({"a":[{"a":4}],"b":3})");
}

}  // namespace
}  // namespace fedstride::test::json_test
