#include "core/text.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "tests/support/refusal.hpp"

namespace fedstride::test::text_test {
namespace {

using Pieces = std::vector<std::string_view>;

TEST_CASE("only ASCII letters have a lower case") {
  CHECK(lower_case("AZ_az-09 [`{@") == "az_az-09 [`{@");
  CHECK(lower_case("\xc3\x84") == "\xc3\x84");
  CHECK(lower_case("").empty());
}

TEST_CASE("splitting keeps empty pieces") {
  CHECK(split("a|b|c", '|') == Pieces{"a", "b", "c"});
  CHECK(split("|a||", '|') == Pieces{"", "a", "", ""});
  CHECK(split("", '|') == Pieces{""});
}

TEST_CASE("trimming takes white space from both ends alone") {
  CHECK(trimmed(" \t conv 64 3\r\n") == "conv 64 3");
  CHECK(trimmed(" \n ").empty());
  CHECK(trimmed("").empty());
}

TEST_CASE("joining puts separators between, empty pieces included") {
  const std::vector<std::string> names{"", "iid", "", "shards"};
  CHECK(joined(names) == ", iid, , shards");
  CHECK(joined(std::span(names).subspan(1, 1)) == "iid");
  CHECK(joined(std::vector<std::string>{}) == "");
  CHECK(joined(std::vector<std::string_view>{"keep", "reset"}, " or ") == "keep or reset");
}

TEST_CASE("one is one client, and everything else are clients") {
  CHECK(counted(1, "client") == "1 client");
  CHECK(counted(0, "client") == "0 clients");
  CHECK(counted(2, "training row") == "2 training rows");
  CHECK(counted(1, "class", "classes") == "1 class");
  CHECK(counted(7, "class", "classes") == "7 classes");
}

TEST_CASE("a bound is printed in four significant digits, however small, and never becomes less of a bound") {
  CHECK(rounded_up(0.00012345) == "0.0001235");
  CHECK(rounded_up(0.000123) == "0.000123");
  CHECK(rounded_up(1.00001) == "1.001");
  CHECK(rounded_up(12345) == "1.235e+04");
  CHECK(rounded_up(3e-9) == "3e-09");
  CHECK(rounded_up(1e-300) == "1e-300");
  CHECK(rounded_up(std::numeric_limits<double>::min()) == "2.226e-308");
  CHECK(rounded_down(std::numeric_limits<double>::min()) == "2.225e-308");
  CHECK(rounded_up(0.94681) == "0.9469");
  CHECK(rounded_down(0.94689) == "0.9468");
  CHECK(rounded_up(0.1) == "0.1");
  CHECK(rounded_up(0) == "0");
  CHECK(rounded_up(std::numeric_limits<double>::infinity()) == "infinite");
}

TEST_CASE("the nearest name is the one with the fewest edits, if that is few") {
  const std::vector<std::string> names{"iid", "pathological", "dirichlet", "dirichlet-balanced"};
  CHECK(nearest("pathologic", names) == "pathological");
  CHECK(nearest("dirchlet", names) == "dirichlet");  // one left out
  CHECK(nearest("dirichlet-balance", names) == "dirichlet-balanced");
  CHECK(nearest("iidd", names) == "iid");             // one too many
  CHECK(nearest("diricjlet", names) == "dirichlet");  // one replaced
  CHECK(nearest("shards", names).empty());
  CHECK(nearest("", {}).empty());
}

TEST_CASE("an unknown name is answered with the nearest one and the list") {
  const std::vector<std::string> names{"sgd", "adam"};
  CHECK(test::names(unknown_name("optimizer", "agd", names), {"optimizer", "'agd'", "'sgd'", "sgd, adam"}));
  const std::string far = unknown_name("optimizer", "newton", names);
  CHECK(test::names(far, {"optimizer", "'newton'", "sgd, adam"}));
  CHECK_FALSE(test::names(far, {"'sgd'"}));
}

// The first and the last character of each length, and what lies beyond (RFC 3629).
TEST_CASE("a character of UTF-8 has one to four bytes, and what is none has 0") {
  for (const std::string_view one : {" ", "~", "\n", "\t"}) CHECK(character_bytes(one) == 1);
  for (const std::string_view two : {"\xc2\xa0", "\xdf\xbf"}) CHECK(character_bytes(two) == 2);
  for (const std::string_view three : {"\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbd"})
    CHECK(character_bytes(three) == 3);
  for (const std::string_view four : {"\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbd"}) CHECK(character_bytes(four) == 4);
  // Control characters, a byte that begins none, surrogates, overlong forms, beyond U+10FFFF, U+FFFE and U+FFFF, and cut ones.
  for (const std::string_view none :
       {"\x01", "\x1f", "\x7f", "\xc2\x80", "\xc2\x9f", "\x80", "\xff", "\xed\xa0\x80", "\xc1\xbf", "\xe0\x9f\xbf",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xef\xbf\xbe", "\xef\xbf\xbf", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3!"})
    CHECK(character_bytes(none) == 0);
  CHECK(clean_text("a\xf0\x9f\x98\x80\x01"
                   "b") ==
        "a\xf0\x9f\x98\x80\xef\xbf\xbd"
        "b");
  CHECK(shortened("\xf0\x9f\x98\x80\xc3\xb6xy", 4) == "\xf0\x9f\x98\x80\xc3\xb6xy");
  CHECK(shortened("\xf0\x9f\x98\x80\xc3\xb6xy", 3) == "\xf0\x9f\x98\x80\xc3\xb6\xe2\x80\xa6");
}

TEST_CASE("text is cut between characters and cleaned of what is none") {
  CHECK(shortened("größer", 6) == "größer");
  CHECK(shortened("größer", 5) == "größ…");
  CHECK(shortened("größer", 4) == "grö…");
  CHECK(clean_text("a\xc3\xb6") == "a\xc3\xb6");
  CHECK(clean_text("a\xc3") == "a\xef\xbf\xbd");
  CHECK(clean_text("\xed\xa0\x80") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(clean_text(std::string("\0x", 2)) == "\xef\xbf\xbdx");
  CHECK(escaped("<a href=\"x\">'&") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
}

TEST_CASE("numbers are written in the shortest way that reads back the same") {
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(0.1F) == "0.1");
  CHECK(number_text(1e-5) == "1e-05");
  CHECK(number_text(10.0) == "10");
  CHECK(number_text(-3) == "-3");
  CHECK(number_text(0.1 + 0.2) == "0.30000000000000004");
  CHECK(number_text(std::uint64_t{18446744073709551615ULL}) == "18446744073709551615");
}

}  // namespace
}  // namespace fedstride::test::text_test
