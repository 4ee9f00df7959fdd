#include "core/setting.hpp"

#include <doctest/doctest.h>

#include "tests/support/refusal.hpp"

namespace fedstride::test::setting_test {
namespace {

enum class Kept { everything, nothing };
constexpr auto choice_names(Kept) { return fedstride::names("keep", "reset"); }

struct Before {
  std::string before = {};
};
struct Base {
  double rate = 0.5;
  bool has_rate() const { return rate > 0.25; }
};
/// One setting of each kind and width; one is a base class's, which is not at the owner's address.
struct Owner : Before, Base {
  int epochs = 3;
  std::int64_t offset = -1;
  std::uint64_t seed = 7;
  bool flip = false;
  std::string folder = "here";
  Kept state = Kept::nothing;
  static constexpr auto kFields =
      fields(Field{"rate", &Owner::rate, "step size", kPositive, Shapes::model, &Owner::has_rate},
             Field{"epochs", &Owner::epochs, "passes", kAtLeastOne}, Field{"offset", &Owner::offset, "where it begins"},
             Field{"seed", &Owner::seed, "what is drawn"}, Field{"flip", &Owner::flip, "mirror pictures"},
             Field{"folder", &Owner::folder, "where it lies"}, Field{"state", &Owner::state, "what is kept"});
};
struct Bare {
  static constexpr auto kFields = fields();
};

const SettingInfo& setting(std::string_view name) {
  for (const SettingInfo& info : settings_of<Owner>())
    if (info.name == name) return info;
  throw std::logic_error("no such setting");
}

void check(std::string_view name, const SettingValue& value) { setting(name).check(value); }

SettingValue whole(std::int64_t value) { return value; }
SettingValue text(const char* value) { return std::string(value); }

}  // namespace

TEST_CASE("the settings of a struct come in order, with name, help and kind") {
  const auto all = settings_of<Owner>();
  REQUIRE(all.size() == 7);
  const std::string_view names[] = {"rate", "epochs", "offset", "seed", "flip", "folder", "state"};
  const SettingKind kinds[] = {SettingKind::number, SettingKind::whole, SettingKind::whole, SettingKind::whole,
                               SettingKind::flag,   SettingKind::text,  SettingKind::choice};
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(all[i].name == names[i]);
    CHECK(all[i].kind == kinds[i]);
    CHECK_FALSE(all[i].help.empty());
  }
  CHECK(settings_of<Bare>().empty());
}

TEST_CASE("every kind of setting is read and written behind the wall, and nothing beside it") {
  const std::pair<std::string_view, SettingValue> values[] = {
      {"rate", 0.25}, {"epochs", whole(9)},      {"offset", whole(-5)},  {"seed", whole(11)},
      {"flip", true}, {"folder", text("there")}, {"state", text("keep")}};
  Owner owner;
  for (const auto& [name, value] : values) {
    CHECK(setting(name).get(&owner) != value);
    setting(name).set(&owner, value);
    CHECK(setting(name).get(&owner) == value);
  }
  CHECK(owner.rate == 0.25);
  CHECK_FALSE(setting("rate").is_read(&owner));
  CHECK(setting("epochs").is_read(&owner));
  CHECK(owner.epochs == 9);
  CHECK(owner.offset == -5);
  CHECK(owner.seed == 11);
  CHECK(owner.flip);
  CHECK(owner.folder == "there");
  CHECK(owner.state == Kept::everything);
  setting("rate").set(&owner, whole(2));  // a whole number is good for a number
  CHECK(owner.rate == 2);
  CHECK(setting("rate").is_read(&owner));
  CHECK(owner.before.empty());
}

TEST_CASE("a value is assigned if it is valid, and else nothing is") {
  Owner owner;
  const auto& rate = settings_of<Owner>()[0];
  rate.assign(&owner, 0.25);
  CHECK(owner.rate == 0.25);
  CHECK_THROWS_AS(rate.assign(&owner, -1.0), Error);
  CHECK_THROWS_AS(rate.assign(&owner, std::string("fast")), Error);
  CHECK(owner.rate == 0.25);
}

TEST_CASE("a value of a file is told as it stands there") {
  CHECK(value_text(true) == "true");
  CHECK(value_text(whole(3)) == "3");
  CHECK(value_text(0.1) == "0.1");
  CHECK(value_text(text("adadp")) == "adadp");
}

TEST_CASE("a value out of bounds is named with what would be valid") {
  CHECK_NOTHROW(check("rate", 1e-300));
  CHECK_NOTHROW(check("rate", whole(1)));
  CHECK_USAGE_ERROR(check("rate", 0.0), "rate", "0");
  CHECK_USAGE_ERROR(check("rate", whole(-1)), "rate", "-1");
  CHECK_USAGE_ERROR(check("rate", std::nan("")), "rate", "nan");
  CHECK_USAGE_ERROR(check("rate", HUGE_VAL), "rate", "inf");
  CHECK_NOTHROW(check("epochs", whole(1)));
  CHECK_USAGE_ERROR(check("epochs", whole(0)), "epochs", "0", "1");
  CHECK_NOTHROW(check("state", text("keep")));
  CHECK_USAGE_ERROR(check("state", text("kept")), "state", "'kept'", "keep", "reset");
  CHECK_USAGE_ERROR(check("state", text("")), "state", "''", "keep", "reset");
}

TEST_CASE("a value of another kind is named with what would be valid") {
  CHECK_NOTHROW(check("flip", false));
  CHECK_NOTHROW(check("folder", text("")));
  CHECK_USAGE_ERROR(check("rate", text("fast")), "rate", "fast");
  CHECK_USAGE_ERROR(check("rate", true), "rate", "true");
  CHECK_USAGE_ERROR(check("epochs", 2.5), "epochs", "2.5");
  CHECK_USAGE_ERROR(check("epochs", 2.0), "epochs", "2");
  CHECK_USAGE_ERROR(check("epochs", text("two")), "epochs", "two");
  CHECK_USAGE_ERROR(check("flip", whole(1)), "flip", "1", "true", "false");
  CHECK_USAGE_ERROR(check("flip", text("yes")), "flip", "yes", "true", "false");
  CHECK_USAGE_ERROR(check("folder", whole(1)), "folder", "1");
  CHECK_USAGE_ERROR(check("state", whole(0)), "state", "0", "keep", "reset");
  CHECK_USAGE_ERROR(check("state", true), "state", "true", "keep", "reset");
}

TEST_CASE("a whole number that its member cannot hold is refused") {
  CHECK_NOTHROW(check("epochs", whole(std::numeric_limits<int>::max())));
  CHECK_USAGE_ERROR(check("epochs", whole(std::int64_t{1} << 31)), "epochs", "2147483648");
  CHECK_USAGE_ERROR(check("epochs", whole(std::numeric_limits<std::int64_t>::min())), "epochs", "-9223372036854775808");
  CHECK_NOTHROW(check("offset", whole(std::numeric_limits<std::int64_t>::min())));
  CHECK_NOTHROW(check("seed", whole(std::numeric_limits<std::int64_t>::max())));
  CHECK_USAGE_ERROR(check("seed", whole(-1)), "seed", "-1");
}

}  // namespace fedstride::test::setting_test
