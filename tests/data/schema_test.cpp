#include "data/schema.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "data/datasets.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::schema_test {
namespace {

Schema full() {
  return {.form = {.shape = {1, 1, 4}, .outputs = 2},
          .columns = {.are_named = true,
                      .inputs = {"a", "city, \"old\"", "b"},
                      .answers = {"kind"},
                      .categories = {{"city, \"old\"", {"Rome", "Oslo;=\n"}}}},
          .classes = {"x,y", "é"},
          .labels_are_names = true,
          .offsets = "a=1700000000",
          .missing = Missing::mean,
          .fill = {1, 0.1F, 3e-39F, -0.0F},
          .mean = {1, 0.1F, 3, 0},
          .deviation = {1, 2, 3, 1},
          .normalized_by = "of the training rows"};
}

}  // namespace

TEST_CASE("a schema is the same after it was written and read") {
  CHECK(read_schema(schema_text(full()), "it") == full());
  const Schema plain{.form = {.shape = {28, 28, 1}, .outputs = 10}, .mean = {0.5F}, .deviation = {0.25F}};
  CHECK(read_schema(schema_text(plain), "it") == plain);
  CHECK(
      schema_text(plain) ==
      R"({"form":{"shape":{"height":28,"width":28,"channels":1},"outputs":10,"targets":"classes"},"mean":[0.5],"deviation":[0.25]})");
}

TEST_CASE("a schema that is not one is refused in one line that names its source") {
  const std::string good = schema_text(full());
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    REQUIRE(text.find(from) != text.npos);
    text.replace(text.find(from), from.size(), to);
    CHECK_FAILURE(read_schema(text, "the coordinator"), "the coordinator");
  };
  refused("\"form\"", "\"shape\"");
  refused("\"height\":1", "\"height\":-1");
  refused("\"height\":1", "\"height\":1.5");
  refused("\"height\":1", "\"height\":9999999999");
  refused("\"outputs\":2", "\"outputs\":3");
  refused(":\"classes\"", ":\"sheep\"");
  refused("\"mean\":[1.0", "\"mean\":[1e999");
  refused("\"mean\":[1.0", "\"mean\":[1e300");
  refused("\"mean\":[1.0,", "\"mean\":[");
  refused("\"deviation\":[1.0", "\"deviation\":[0");
  refused("\"fill\":[1.0", "\"fill\":[1e300");
  refused("\"fill\":[1.0,", "\"fill\":[");
  refused("\"named\":true", "\"named\":1");
  refused("\"inputs\":[\"a\"", "\"inputs\":[7");
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), std::string(5000, '['), good.substr(0, 90)})
    CHECK_FAILURE(read_schema(text, "'run'"), "'run'");
}

TEST_CASE("data sets that differ in names alone have other hashes, and those without names the one of their contents") {
  const TemporaryFolder folder;
  const auto hash = [&](const std::string& text) { return load_dataset("file", own(write(folder / "t.csv", text), {})).hash; };
  const std::string rows = "1,2,cat\n3,4,dog\n5,6,cat\n7,8,dog\n9,1,cat\n2,2,dog\n";
  std::string renamed = rows;
  for (std::size_t at = 0; (at = renamed.find("cat", at)) != renamed.npos;) renamed.replace(at, 3, "cow");
  CHECK(hash("a,b,kind\n" + rows) != hash("a,c,kind\n" + rows));
  CHECK(hash("a,b,kind\n" + rows) != hash("a,b,kind\n" + renamed));
  CHECK(hash(rows) != hash(renamed));
  const std::string numbers = "1,2,0\n3,4,1\n5,6,0\n7,8,1\n9,1,0\n2,2,1\n";
  const DataPair plain = load_dataset("file", own(write(folder / "t.csv", numbers), {}));
  CHECK(plain.hash == content_hash(plain.train, plain.test));
}

}  // namespace fedstride::test::schema_test
