#include "core/setting.hpp"

#include <doctest/doctest.h>

namespace fedstride::test::setting_test {
namespace {

enum class Kept { everything, nothing };
constexpr auto choice_names(Kept) { return names("keep", "reset"); }

struct Base {
  double rate = 0.5;
};
/// One setting of each kind and width; one is a base class's.
struct Owner : Base {
  int epochs = 3;
  std::int64_t offset = -1;
  std::uint64_t seed = 7;
  bool flip = false;
  std::string folder = "here";
  Kept state = Kept::nothing;
  static constexpr auto kFields =
      std::tuple{Field{"rate", &Owner::rate, "step size", kPositive}, Field{"epochs", &Owner::epochs, "passes", kAtLeastOne},
                 Field{"offset", &Owner::offset, "where it begins"},  Field{"seed", &Owner::seed, "what is drawn"},
                 Field{"flip", &Owner::flip, "mirror pictures"},      Field{"folder", &Owner::folder, "where it lies"},
                 Field{"state", &Owner::state, "what is kept"}};
};
struct Bare {
  static constexpr auto kFields = std::tuple{};
};

const SettingInfo& setting(std::string_view name) {
  for (const SettingInfo& info : settings_of<Owner>())
    if (info.name == name) return info;
  throw std::logic_error("no such setting");
}

/// The complaint of check about a value, "" if it is good.
std::string complaint(std::string_view name, const SettingValue& value) {
  try {
    setting(name).check(value);
  } catch (const Error& error) {
    CHECK(error.kind() == Error::Kind::usage);
    return error.what();
  }
  return "";
}

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
  CHECK(owner.epochs == 9);
  CHECK(owner.offset == -5);
  CHECK(owner.seed == 11);
  CHECK(owner.flip);
  CHECK(owner.folder == "there");
  CHECK(owner.state == Kept::everything);
  setting("rate").set(&owner, whole(2));  // a whole number is good for a number
  CHECK(owner.rate == 2);
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
  CHECK(complaint("rate", 1e-300) == "");
  CHECK(complaint("rate", whole(1)) == "");
  CHECK(complaint("rate", 0.0) == "rate is 0; it must be a number above 0");
  CHECK(complaint("rate", whole(-1)) == "rate is -1; it must be a number above 0");
  CHECK(complaint("rate", std::nan("")) == "rate is nan; it must be a number above 0");
  CHECK(complaint("rate", HUGE_VAL) == "rate is inf; it must be a number above 0");
  CHECK(complaint("epochs", whole(1)) == "");
  CHECK(complaint("epochs", whole(0)) == "epochs is 0; it must be a whole number from 1");
  CHECK(complaint("state", text("keep")) == "");
  CHECK(complaint("state", text("kept")) == "state 'kept' is unknown; valid: keep, reset");
  CHECK(complaint("state", text("")) == "state '' is unknown; valid: keep, reset");
}

TEST_CASE("a value of another kind is named with what would be valid") {
  CHECK(complaint("flip", false) == "");
  CHECK(complaint("folder", text("")) == "");
  CHECK(complaint("rate", text("fast")) == "rate is 'fast'; it must be a number above 0");
  CHECK(complaint("rate", true) == "rate is 'true'; it must be a number above 0");
  CHECK(complaint("epochs", 2.5) == "epochs is '2.5'; it must be a whole number from 1");
  CHECK(complaint("epochs", 2.0) == "epochs is '2'; it must be a whole number from 1");
  CHECK(complaint("epochs", text("two")) == "epochs is 'two'; it must be a whole number from 1");
  CHECK(complaint("flip", whole(1)) == "flip is '1'; it must be true or false");
  CHECK(complaint("flip", text("yes")) == "flip is 'yes'; it must be true or false");
  CHECK(complaint("folder", whole(1)) == "folder is '1'; it must be a text");
  CHECK(complaint("state", whole(0)) == "state is '0'; valid: keep, reset");
  CHECK(complaint("state", true) == "state is 'true'; valid: keep, reset");
}

TEST_CASE("a whole number that its member cannot hold is refused") {
  CHECK(complaint("epochs", whole(std::numeric_limits<int>::max())) == "");
  CHECK_FALSE(complaint("epochs", whole(std::int64_t{1} << 31)).empty());
  CHECK_FALSE(complaint("epochs", whole(std::numeric_limits<std::int64_t>::min())).empty());
  CHECK(complaint("offset", whole(std::numeric_limits<std::int64_t>::min())) == "");
  CHECK(complaint("seed", whole(std::numeric_limits<std::int64_t>::max())) == "");
  CHECK_FALSE(complaint("seed", whole(-1)).empty());
}

TEST_CASE("check_settings finds the one value of a struct that is not valid") {
  Owner owner;
  CHECK_NOTHROW(check_settings(owner));
  owner.epochs = 0;
  CHECK_THROWS_WITH_AS(check_settings(owner), "epochs is 0; it must be a whole number from 1", Error);
  CHECK_NOTHROW(check_settings(Bare{}));
}

}  // namespace fedstride::test::setting_test
