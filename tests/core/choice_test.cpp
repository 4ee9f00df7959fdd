#include "core/choice.hpp"

#include <doctest/doctest.h>

namespace fedstride::test::choice_test {
namespace {

enum class Colour { red, deep_blue, none };
constexpr auto choice_names(Colour) { return names("red", "deep-blue", "none"); }
enum class Nameless { one };

static_assert(Choice<Colour> && !Choice<Nameless> && !Choice<int>);
static_assert(find_choice<Colour>("deep-blue") == Colour::deep_blue);

}  // namespace

TEST_CASE("every value of a choice is found by its own name") {
  CHECK(kChoiceNames<Colour>.size() == 3);
  for (const Colour colour : {Colour::red, Colour::deep_blue, Colour::none}) {
    CHECK(find_choice<Colour>(choice_name(colour)) == colour);
    CHECK(make_choice<Colour>("colour", choice_name(colour)) == colour);
  }
  CHECK(choice_name(Colour::deep_blue) == "deep-blue");
  CHECK(joined(kChoiceNames<Colour>) == "red, deep-blue, none");
}

TEST_CASE("a name that no value has is refused with those that there are") {
  for (const std::string name : {"", "Red", "red ", "deep_blue", "red, deep-blue"}) {
    CHECK_FALSE(find_choice<Colour>(name).has_value());
    const std::string expected = "colour '" + name + "' is unknown; valid: red, deep-blue, none";
    CHECK_THROWS_WITH_AS(make_choice<Colour>("colour", name), expected.c_str(), Error);
  }
}

}  // namespace fedstride::test::choice_test
