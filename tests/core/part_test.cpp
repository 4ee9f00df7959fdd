#include "core/part.hpp"

#include <doctest/doctest.h>

#include "tests/support/refusal.hpp"

namespace fedstride::test::part_test {
namespace {

/// A family of this test's own: something that has an area.
class ShapePart : public Part {
 public:
  static PartFamily& family();
  virtual double area() const = 0;
};

struct SquareSettings {
  double side = 2;
  static constexpr auto kFields = fields(Field{"side", &SquareSettings::side, "length", kPositive});
};
struct Square final : PartBase<ShapePart, Square, SquareSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "square", kSummary = "four equal sides";
  double area() const override { return side * side; }
};
struct Point final : PartBase<ShapePart, Point> {
  static constexpr std::string_view kName = "point", kSummary = "nothing at all";
  double area() const override { return 0; }
};
struct RectangleSettings {
  double width = 2, height = 3;
  static constexpr auto kFields = fields(Field{"width", &RectangleSettings::width, "across", kPositive},
                                         Field{"height", &RectangleSettings::height, "upright", kPositive});
};
struct Rectangle final : PartBase<ShapePart, Rectangle, RectangleSettings> {
  using PartBase::PartBase;
  static constexpr std::string_view kName = "rectangle", kSummary = "four sides";
  double area() const override { return width * height; }
};
struct TwoSidesSettings : RectangleSettings {
  static constexpr auto kFields =
      fields(Field{"side", &TwoSidesSettings::width, "across"}, Field{"side", &TwoSidesSettings::height, "upright"});
};
struct TwoSides final : PartBase<ShapePart, TwoSides, TwoSidesSettings> {
  static constexpr std::string_view kName = "two-sides", kSummary = "four sides";
  double area() const override { return width * height; }
};
struct Inverted final : PartBase<ShapePart, Inverted, SquareSettings> {
  Inverted() { side = -1; }
  static constexpr std::string_view kName = "inverted", kSummary = "four equal sides";
  double area() const override { return side * side; }
};

PartFamily two_shapes() {
  PartFamily family("shape", "what is drawn", Question::output);
  add_parts<ShapePart, Square, Point>(family);
  return family;
}
PartFamily& ShapePart::family() {
  static PartFamily family = two_shapes();
  return family;
}
using Shape = Chosen<ShapePart>;

template <class P>
void add_to(PartFamily& family) {
  family.add(std::make_unique<P>());
}

}  // namespace

TEST_CASE("a family lists its parts in order and makes each by its name, with its defaults") {
  const PartFamily family = two_shapes();
  CHECK(family.names() == std::vector<std::string>{"square", "point"});
  CHECK(family.key() == "shape");
  CHECK(family.purpose() == "what is drawn");
  const auto square = family.make("square");
  CHECK(square->name() == "square");
  CHECK(square->summary() == "four equal sides");
  REQUIRE(square->find("side") != nullptr);
  CHECK(square->get(*square->find("side")) == SettingValue(2.0));
  CHECK(square->find("width") == nullptr);
  CHECK(family.make("point")->settings().empty());
}

TEST_CASE("a part that is unknown is a usage error that names the nearest") {
  const PartFamily family = two_shapes();
  CHECK_USAGE_ERROR(family.make("sqare"), "shape", "'sqare'", "'square'", "point");
  CHECK_USAGE_ERROR(family.make(""), "shape", "''", "square", "point");
}

TEST_CASE("a name that is taken, a setting that stands twice and defaults that are not valid are not let in") {
  PartFamily family = two_shapes();
  CHECK_USAGE_ERROR(add_to<Square>(family), "shape", "square");
  CHECK_USAGE_ERROR(add_to<TwoSides>(family), "shape", "two-sides", "side");
  CHECK_USAGE_ERROR(add_to<Inverted>(family), "side", "-1");
  CHECK(family.names() == std::vector<std::string>{"square", "point"});
  add_to<Rectangle>(family);
  CHECK(family.names().back() == "rectangle");
}

TEST_CASE("a chosen part begins as the family's first, and becomes another by name or by struct") {
  Shape shape;
  CHECK(shape.name() == "square");
  CHECK(shape->area() == 4);
  shape.choose("point");
  CHECK(shape->area() == 0);
  CHECK_THROWS_AS(shape.choose("circle"), Error);
  CHECK(shape.name() == "point");
  shape = Square({.side = 3});
  CHECK((*shape).area() == 9);
  CHECK(&shape.family() == &ShapePart::family());
}

TEST_CASE("the struct is there for whoever knows it, and for nobody else") {
  Shape shape = Square({.side = 3});
  REQUIRE(shape.as<Square>() != nullptr);
  shape.as<Square>()->side = 5;
  CHECK(shape->area() == 25);
  CHECK(shape.as<Point>() == nullptr);
  CHECK(shape.as<Rectangle>() == nullptr);
  CHECK(std::as_const(shape).as<Square>()->side == 5);
}

TEST_CASE("copies of a chosen part are independent") {
  Shape one = Square({.side = 3});
  Shape other = one;
  other.as<Square>()->side = 7;
  CHECK(one->area() == 9);
  CHECK(other->area() == 49);
  one = other;
  other.choose("point");
  CHECK(one->area() == 49);
  const Shape moved = std::move(one);
  CHECK(moved->area() == 49);
  CHECK(Shape()->area() == 4);  // and the family's own default is what it was
}

TEST_CASE("a setting is set behind the wall, but never to what is not valid") {
  Shape shape;
  const SettingInfo& side = *shape.part().find("side");
  shape.part().set(side, 6.0);
  CHECK(shape->area() == 36);
  CHECK_USAGE_ERROR(shape.part().set(side, 0.0), "side", "0");
  CHECK(shape->area() == 36);
  CHECK_NOTHROW(shape.part().check());
  shape.as<Square>()->side = -1;
  CHECK_USAGE_ERROR(shape.part().check(), "side", "-1");
}

// The last of this file: it changes the registry.
TEST_CASE("a part of one's own is added with the values it has, and is then one like any other") {
  add_part<Shape>(Rectangle({.width = 4, .height = 5}));
  CHECK(ShapePart::family().names() == std::vector<std::string>{"square", "point", "rectangle"});
  Shape shape;
  CHECK(shape.name() == "square");
  shape.choose("rectangle");
  CHECK(shape->area() == 20);
  CHECK_THROWS_AS(add_part<Shape>(Rectangle{}), Error);
}

}  // namespace fedstride::test::part_test
