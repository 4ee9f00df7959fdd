#include "personal/conformance.hpp"

#include <doctest/doctest.h>

namespace fedstride::test::conformance_test {
namespace {

// Pulls at nothing, and keeps what it does not make.
struct Idle : PersonalDefaults {
  static constexpr std::string_view kName = "idle", kSummary = "";
  static constexpr auto kFields = std::tuple{};
  static constexpr bool kKeeps = true;
  static double pull() { return 1; }
  static int local_first() { return 1; }
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
  CHECK(idle[0] == "personal 'idle' does not keep: nothing is kept where a client has nothing of its own");
  CHECK(idle[1] == "personal 'idle' does not keep: it pulls in a second pass alone");
  CHECK(idle[2] == "personal 'idle' does not keep: it divides the epochs only where layers are the client's own");
}

}  // namespace fedstride::test::conformance_test
