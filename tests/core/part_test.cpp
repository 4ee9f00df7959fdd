#include "core/part.hpp"

#include <doctest/doctest.h>

namespace fedstride::test::part_test {
namespace {

template <class P>
class ShapeOf;

/// A family of this test's own: something that has an area.
class ShapePart : public Part {
 public:
  static PartFamily& family();
  template <class P>
  using Of = ShapeOf<P>;
  virtual double area() const = 0;
};

template <class P>
class ShapeOf final : public PartOf<ShapePart, ShapeOf<P>, P> {
 public:
  using PartOf<ShapePart, ShapeOf<P>, P>::PartOf;
  double area() const final { return this->part_.area(); }
};

struct Square {
  double side = 2;
  static constexpr std::string_view kName = "square", kSummary = "four equal sides";
  static constexpr auto kFields = std::tuple{Field{"side", &Square::side, "length", kPositive}};
  double area() const { return side * side; }
};
struct Point {
  static constexpr std::string_view kName = "point", kSummary = "nothing at all";
  static constexpr auto kFields = std::tuple{};
  double area() const { return 0; }
};
struct Rectangle {
  double width = 2, height = 3;
  static constexpr std::string_view kName = "rectangle", kSummary = "four sides";
  static constexpr auto kFields = std::tuple{Field{"width", &Rectangle::width, "across", kPositive},
                                             Field{"height", &Rectangle::height, "upright", kPositive}};
  double area() const { return width * height; }
};
struct TwoSides : Rectangle {
  static constexpr std::string_view kName = "two-sides";
  static constexpr auto kFields =
      std::tuple{Field{"side", &Rectangle::width, "across"}, Field{"side", &Rectangle::height, "upright"}};
};
struct Inverted : Square {
  Inverted() { side = -1; }
  static constexpr std::string_view kName = "inverted";
};

PartFamily two_shapes() {
  PartFamily family("shape", "what is drawn");
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
  family.add(std::make_unique<ShapeOf<P>>(P{}));
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
  CHECK_THROWS_WITH_AS(family.make("sqare"), "shape 'sqare' is unknown; did you mean 'square'? valid: square, point", Error);
  CHECK_THROWS_WITH_AS(family.make(""), "shape '' is unknown; valid: square, point", Error);
}

TEST_CASE("a name that is taken, a setting that stands twice and defaults that are not valid are not let in") {
  PartFamily family = two_shapes();
  CHECK_THROWS_WITH_AS(add_to<Square>(family), "shape 'square' is there already; each part of a family needs a name of its own",
                       Error);
  CHECK_THROWS_WITH_AS(add_to<TwoSides>(family), "shape 'two-sides' has two settings with the name 'side'", Error);
  CHECK_THROWS_WITH_AS(add_to<Inverted>(family), "side is -1; it must be a number above 0", Error);
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
  shape = Square{.side = 3};
  CHECK((*shape).area() == 9);
  CHECK(&shape.family() == &ShapePart::family());
}

TEST_CASE("the struct is there for whoever knows it, and for nobody else") {
  Shape shape = Square{.side = 3};
  REQUIRE(shape.as<Square>() != nullptr);
  shape.as<Square>()->side = 5;
  CHECK(shape->area() == 25);
  CHECK(shape.as<Point>() == nullptr);
  CHECK(shape.as<Rectangle>() == nullptr);
  CHECK(std::as_const(shape).as<Square>()->side == 5);
}

TEST_CASE("copies of a chosen part are independent") {
  Shape one = Square{.side = 3};
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
  CHECK_THROWS_WITH_AS(shape.part().set(side, 0.0), "side is 0; it must be a number above 0", Error);
  CHECK(shape->area() == 36);
  CHECK_NOTHROW(shape.part().check());
  shape.as<Square>()->side = -1;
  CHECK_THROWS_WITH_AS(shape.part().check(), "side is -1; it must be a number above 0", Error);
}

// The last of this file: it changes the registry.
TEST_CASE("a part of one's own is added with the values it has, and is then one like any other") {
  add_part<Shape>(Rectangle{.width = 4, .height = 5});
  CHECK(ShapePart::family().names() == std::vector<std::string>{"square", "point", "rectangle"});
  Shape shape;
  CHECK(shape.name() == "square");
  shape.choose("rectangle");
  CHECK(shape->area() == 20);
  CHECK_THROWS_AS(add_part<Shape>(Rectangle{}), Error);
}

}  // namespace fedstride::test::part_test
