#include "core/family.hpp"

#include <doctest/doctest.h>

namespace fedstride::test::family_test {
namespace {

struct Plain {
  static constexpr std::string_view kName = "plain", kSummary = "has nothing to choose";
  static constexpr auto kFields = std::tuple{};
};

enum class Keeps { keep, reset };
constexpr auto choice_names(Keeps) { return names("keep", "reset"); }

struct Rated {
  static constexpr std::string_view kName = "rated", kSummary = "has one field of each kind";
  double rate = 0.5;
  int epochs = 3;
  bool flip = false;
  Keeps state = Keeps::keep;
  static constexpr auto kFields =
      std::tuple{Field{"rate", &Rated::rate, "step size", kPositive}, Field{"epochs", &Rated::epochs, "passes", kAtLeastOne},
                 Field{"flip", &Rated::flip, "mirror pictures"}, Field{"state", &Rated::state, "what is kept"}};
};

using Family = std::variant<Plain, Rated>;

template <class Value>
std::string complaint(const Field<Rated, Value>& field, const Value& value) {
  try {
    check_field(field, value);
  } catch (const Error& error) {
    CHECK(error.exit_code() == 2);
    return error.what();
  }
  return "";
}

const auto& rate = std::get<0>(Rated::kFields);
const auto& epochs = std::get<1>(Rated::kFields);

TEST_CASE("a family lists its parts in order and makes each by its name, with its defaults") {
  CHECK(part_names<Family>() == std::vector<std::string>{"plain", "rated"});
  const Family made = make_part<Family>("part", "rated");
  CHECK(part_name(made) == "rated");
  CHECK(std::get<Rated>(made).rate == 0.5);
  CHECK(part_name(make_part<Family>("part", "plain")) == "plain");
}

TEST_CASE("an unknown part is a usage error that names the nearest") {
  CHECK_THROWS_WITH_AS(make_part<Family>("part", "ratd"), "part 'ratd' is unknown; did you mean 'rated'? valid: plain, rated",
                       Error);
}

TEST_CASE("every field of a part is visited in order") {
  std::vector<std::string> names;
  for_each_field<Rated>([&](const auto& field) { names.emplace_back(field.name); });
  CHECK(names == std::vector<std::string>{"rate", "epochs", "flip", "state"});
  for_each_field<Plain>([&](const auto& field) { names.emplace_back(field.name); });
  CHECK(names.size() == 4);
}

TEST_CASE("a number out of bounds is named with what would be valid") {
  CHECK(complaint(rate, 1e-300) == "");
  CHECK(complaint(rate, 0.0) == "rate is 0; it must be a number above 0");
  CHECK(complaint(rate, -0.1) == "rate is -0.1; it must be a number above 0");
  CHECK(complaint(epochs, 1) == "");
  CHECK(complaint(epochs, 0) == "epochs is 0; it must be a whole number from 1");
}

TEST_CASE("NaN and infinity are valid for no field") {
  CHECK(complaint(rate, std::nan("")) == "rate is nan; it must be a number above 0");
  CHECK(complaint(rate, std::numeric_limits<double>::infinity()) == "rate is inf; it must be a number above 0");
  CHECK_FALSE(Valid{}.admits(std::nan("")));
  CHECK_FALSE(kFraction.admits(std::nan("")));
}

TEST_CASE("bounds are told as a person would") {
  CHECK(kFraction.text(false) == "a number from 0 to 1");
  CHECK(Valid{.low = 1, .high = 1000000}.text(true) == "a whole number from 1 to 1000000");
  CHECK(Valid{.low = 0, .high = 1, .low_included = false}.text(false) == "a number above 0 and up to 1");
  CHECK(Valid{.low = 0, .high = 1, .high_included = false}.text(false) == "a number from 0 and below 1");
  CHECK(Valid{.high = 0.5, .high_included = false}.text(false) == "a number below 0.5");
  CHECK(Valid{}.text(false) == "a number");
  CHECK(Valid{}.text(true) == "a whole number");
}

TEST_CASE("bounds hold at the bound itself") {
  CHECK(kFraction.admits(0));
  CHECK(kFraction.admits(1));
  CHECK_FALSE(kFraction.admits(-1e-300));
  CHECK_FALSE(kPositive.admits(0));
  CHECK(kNonNegative.admits(0));
  const Valid half_open{.low = 0, .high = 1, .high_included = false};
  CHECK(half_open.admits(0.9999999999));
  CHECK_FALSE(half_open.admits(1));
}

}  // namespace
}  // namespace fedstride::test::family_test
