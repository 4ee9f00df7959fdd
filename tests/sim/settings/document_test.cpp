#include "sim/settings/document.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/refusal.hpp"

namespace fedstride::test::document_test {
namespace {

std::string nested(std::size_t depth) {
  std::string name = "a";
  for (std::size_t i = 0; i < depth; ++i) name += ".a";
  return name;
}

}  // namespace

TEST_CASE("tables nested too deep are an error, however they are written, and never exhaust the stack") {
  const std::string deep = nested(50'000), inside = nested(100);
  const std::string texts[] = {
      "[" + deep + "]",
      "[[" + deep + "]]",
      deep + " = 1",
      "a = {" + deep + " = 1}",
      "a = [1, {b = 2, " + deep + " = 1}]",
      "a = {" + inside + " = {" + inside + " = {" + inside + " = 1}}}",
      "text = '''\n[ # not a comment\n'''\n[" + deep + "]",
  };
  for (const std::string& text : texts) CHECK_USAGE_ERROR(parse_document(text, "welcome"), "nested more than 256 deep");
  CHECK_USAGE_ERROR(parse_document("a = 1\n\n[" + deep + "]", "welcome"), "'welcome', line 3: ");
  CHECK_USAGE_ERROR(parse_document(std::string(60'000, 'k') + " = 1", "welcome"),
                    "'welcome', line 1: ", "more than 1024 characters");
  CHECK_USAGE_ERROR(parse_document("\"" + std::string(60'000, 'k') + "\" = 1", "welcome"), "more than 1024 characters");
  CHECK_USAGE_ERROR(parse_document("a = " + std::string(60'000, '['), "welcome"), "welcome");
}

TEST_CASE("long values, many tables, and dots outside of names are no depth") {
  std::string text = "text = \"" + nested(5000) + "\"  # " + nested(5000) + "\nlist = [";
  for (int i = 0; i < 2000; ++i) text += "1.5, {a.b = 'x.y'}, [2.5],\n";
  text += "]\n";
  for (int i = 0; i < 2000; ++i) text += "[t" + std::to_string(i) + ".a.b]\nc.d = 1.5\n";
  CHECK(parse_document(text, "file").name == "file");
  CHECK(parse_document("[" + nested(200) + "]\n" + nested(200) + " = 1", "file").name == "file");
}

}  // namespace fedstride::test::document_test
