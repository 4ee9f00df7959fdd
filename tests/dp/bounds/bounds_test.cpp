#include "dp/bounds/bounds.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/setting.hpp"

namespace fedstride::test::bounds_test {

namespace {

struct AllSettings : BoundSettings {
  static constexpr auto kFields = BoundSettings::choice_fields();
};

struct Halves final : PartBase<BoundPart, Halves> {
  static constexpr std::string_view kName = "halves", kSummary = "of these tests";
  double next(double bound, double mean_bit) const override { return bound * std::exp2(-mean_bit); }
};

/// A part whose factor is not below S / norm.
struct Careless final : PartBase<BoundPart, Careless> {
  static constexpr std::string_view kName = "careless", kSummary = "of these tests";
  double wanted = 0;
  double factor(double, double) const override { return wanted; }
};

}  // namespace

TEST_CASE("a level's settings are a name and those of every bound, which are read if it is chosen") {
  CHECK(BoundSettings().bound().name() == FixedBound::kName);
  for (const auto& part : BoundPart::family().parts()) {
    CAPTURE(part->name());
    AllSettings settings;
    settings.chosen = make_choice<ClipRule>("clip-rule", part->name());
    CHECK(settings.bound().name() == part->name());
    for (const SettingInfo& info : settings_of<AllSettings>()) {
      CHECK(info.is_read(&settings) == (info.name == "clip-rule" || part->find(info.name) != nullptr));
      if (info.kind != SettingKind::number || !info.is_read(&settings)) continue;
      info.set(&settings, 0.375);
      CHECK(settings.bound().part().get(*part->find(info.name)) == SettingValue(0.375));
    }
    CHECK(stated_rule(settings.bound()) == (settings.bound()->counts() ? settings.chosen : ClipRule{}));
  }
  CHECK(ScaledBound().scales());
  CHECK_FALSE(FixedBound().scales());
}

TEST_CASE("no contribution becomes longer than the bound, whatever a part says") {
  for (const auto& part : BoundPart::family().parts())
    for (const double norm : {1e-300, 1e-3, 1.0, 1.25, 1e300})
      for (const double bound : {1e-6, 1.25, 1e6}) {
        const auto& rule = static_cast<const BoundPart&>(*part);
        CHECK(rule.safe_factor(norm, bound) == rule.factor(norm, bound));
        CHECK(rule.safe_factor(norm, bound) <= bound / norm);
        CHECK(rule.safe_factor(0, bound) == 1);
      }
  Careless careless;
  for (const double wanted : {2.01, -0.5, -1e9, std::nan(""), HUGE_VAL}) {
    careless.wanted = wanted;
    CHECK(careless.safe_factor(1.5, 3) == 2);
  }
  careless.wanted = 1.99;
  CHECK(careless.safe_factor(1.5, 3) == 1.99);
}

TEST_CASE("sum and count together cost what the noise multiplier says") {
  for (const double z : {0.1, 1.0, 20.0})
    for (const double deviation : {0.51 * z, z, 50 * z}) {
      const double vector = noise_beside_count(z, deviation);
      CHECK(1 / (vector * vector) + 1 / (4 * deviation * deviation) <= 1 / (z * z));
      CHECK(1 / (vector * vector) + 1 / (4 * deviation * deviation) == doctest::Approx(1 / (z * z)).epsilon(1e-12));
    }
  CHECK_THROWS_AS(noise_beside_count(2, 1), Error);
  CHECK_THROWS_AS(noise_beside_count(0, 1), Error);
  CHECK_THROWS_AS(noise_beside_count(1, std::nan("")), Error);
}

TEST_CASE("a course follows its rule within limits, stays where nobody was counted, and resumes at a bound") {
  BoundCourse course(Halves{}, 4);
  CHECK(course.used() == 0);
  course.take(1);
  CHECK(course.bound() == 2);
  CHECK(course.used() == 4);
  course.take(std::nullopt);
  CHECK(course.bound() == 2);
  CHECK(course.used() == 2);
  course.take(-3, 5);
  CHECK(course.bound() == 5);
  course.take(1000);
  CHECK(course.bound() == kLeastClip);
  course.take(-1000);
  CHECK(course.bound() == kMostClip);
  course.resume(3);
  CHECK(course.bound() == 3);
  for (const double damaged : {0.0, -1.0, std::nan(""), HUGE_VAL}) CHECK_THROWS_AS(course.resume(damaged), Error);
}

}  // namespace fedstride::test::bounds_test
