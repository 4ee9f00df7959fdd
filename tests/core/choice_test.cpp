#include "core/choice.hpp"

#include <doctest/doctest.h>

#include "tests/support/refusal.hpp"

namespace fedstride::test::choice_test {
namespace {

enum class Color { red, deep_blue, none };
constexpr auto choice_names(Color) { return fedstride::names("red", "deep-blue", "none"); }
enum class Nameless { one };

static_assert(Choice<Color> && !Choice<Nameless> && !Choice<int>);
static_assert(find_choice<Color>("deep-blue") == Color::deep_blue);

}  // namespace

TEST_CASE("every value of a choice is found by its own name") {
  CHECK(kChoiceNames<Color>.size() == 3);
  for (const Color color : {Color::red, Color::deep_blue, Color::none}) {
    CHECK(find_choice<Color>(choice_name(color)) == color);
    CHECK(make_choice<Color>("color", choice_name(color)) == color);
  }
  CHECK(choice_name(Color::deep_blue) == "deep-blue");
  CHECK(joined(kChoiceNames<Color>) == "red, deep-blue, none");
}

TEST_CASE("a name that no value has is refused with those that there are") {
  for (const std::string name : {"", "Red", "red ", "deep_blue", "red, deep-blue"}) {
    CHECK_FALSE(find_choice<Color>(name).has_value());
    CHECK_USAGE_ERROR(make_choice<Color>("color", name), "color", "'" + name + "'", "red", "deep-blue", "none");
  }
}

}  // namespace fedstride::test::choice_test
