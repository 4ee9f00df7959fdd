#include "tests/kits/conformance.hpp"

#include <doctest/doctest.h>

#include "tests/support/refusal.hpp"

namespace fedstride::test::conformance_test {
namespace {

// Claims a pull and a kept state without having a model.
struct Idle final : PartBase<PersonalPart, Idle> {
  static constexpr std::string_view kName = "idle", kSummary = "";
  bool keeps() const override { return true; }
  double pull() const override { return 1; }
  int local_first() const override { return 1; }
};

}  // namespace

TEST_CASE("every kind of personal model keeps its promises") {
  for (const auto& name : PersonalPart::family().names()) {
    Personal personal;
    personal.choose(name);
    CHECK(complaints(personal) == std::vector<std::string>{});
    CHECK(personal->makes() == (name != "none"));
  }
}

TEST_CASE("a broken one is found") {
  const auto idle = complaints(Personal(Idle{}));
  REQUIRE(idle.size() == 3);
  CHECK(names(idle[0], {"personal", "idle", "kept"}));
  CHECK(names(idle[1], {"personal", "idle", "second pass"}));
  CHECK(names(idle[2], {"personal", "idle", "epochs"}));
}

}  // namespace fedstride::test::conformance_test
