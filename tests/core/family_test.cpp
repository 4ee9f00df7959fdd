#include "core/family.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "tests/support/refusal.hpp"

namespace fedstride::test::family_test {
namespace {

struct Plain {
  static constexpr std::string_view kName = "plain", kSummary = "has nothing to choose";
  static constexpr auto kFields = fields();
};

enum class Keeps { keep, reset };
constexpr auto choice_names(Keeps) { return fedstride::names("keep", "reset"); }

struct Rated {
  static constexpr std::string_view kName = "rated", kSummary = "has one field of each kind";
  double rate = 0.5;
  int epochs = 3;
  bool flip = false;
  Keeps state = Keeps::keep;
  static constexpr auto kFields =
      fields(Field{"rate", &Rated::rate, "step size", kPositive}, Field{"epochs", &Rated::epochs, "passes", kAtLeastOne},
             Field{"flip", &Rated::flip, "mirror pictures"}, Field{"state", &Rated::state, "what is kept"});
};

using Family = std::variant<Plain, Rated>;

const SettingInfo& rate = settings_of<Rated>()[0];
const SettingInfo& epochs = settings_of<Rated>()[1];

TEST_CASE("a family lists its parts in order and makes each by its name, with its defaults") {
  CHECK(part_names<Family>() == std::vector<std::string>{"plain", "rated"});
  const Family made = make_part<Family>("part", "rated");
  CHECK(part_name(made) == "rated");
  CHECK(std::get<Rated>(made).rate == 0.5);
  CHECK(part_name(make_part<Family>("part", "plain")) == "plain");
}

TEST_CASE("an unknown part is a usage error that names the nearest") {
  CHECK_USAGE_ERROR(make_part<Family>("part", "ratd"), "part", "'ratd'", "'rated'", "plain", "rated");
}

TEST_CASE("a number out of bounds is named with what would be valid") {
  CHECK_NOTHROW(check_value(rate.name, rate.valid, 1e-300));
  CHECK_USAGE_ERROR(check_value(rate.name, rate.valid, 0.0), "rate", "0");
  CHECK_USAGE_ERROR(check_value(rate.name, rate.valid, -0.1), "rate", "-0.1");
  CHECK_NOTHROW(check_value(epochs.name, epochs.valid, 1));
  CHECK_USAGE_ERROR(check_value(epochs.name, epochs.valid, 0), "epochs", "0", "1");
}

TEST_CASE("NaN and infinity are valid for no field") {
  CHECK_USAGE_ERROR(check_value(rate.name, rate.valid, std::nan("")), "rate", "nan");
  CHECK_USAGE_ERROR(check_value(rate.name, rate.valid, std::numeric_limits<double>::infinity()), "rate", "inf");
  CHECK_FALSE(Valid{}.admits(std::nan("")));
  CHECK_FALSE(kFraction.admits(std::nan("")));
}

TEST_CASE("a range's text has its bounds in digits, and differs where a bound is included or not, and for whole numbers") {
  CHECK(names(kFraction.text(false), {"0", "1"}));
  CHECK(names(Valid{.low = 1, .high = 1000000}.text(true), {"1", "1000000"}));
  CHECK(names(Valid{.high = 0.5, .high_included = false}.text(false), {"0.5"}));
  std::set<std::string> texts;
  for (const bool whole : {false, true}) {
    for (const bool low : {false, true})
      for (const bool high : {false, true})
        texts.insert(Valid{.low = 0, .high = 1, .low_included = low, .high_included = high}.text(whole));
    texts.insert(Valid{}.text(whole));
  }
  CHECK(texts.size() == 10);
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
