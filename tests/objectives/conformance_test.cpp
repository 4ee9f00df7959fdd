#include "objectives/conformance.hpp"

#include <doctest/doctest.h>

#include "objectives/dynamic.hpp"

namespace fedstride::test::conformance_test {
namespace {

// Forgets to save what it counts.
struct Forgetful : PlainObjective {
  static constexpr std::string_view kName = "forgetful", kSummary = "";
  static constexpr auto kFields = std::tuple{};
  struct State {
    float rounds = 0;
    template <class Archive>
    void serialize(Archive&) {}
  };
  static void start(State& state, std::size_t) { state = {}; }
  static void next(State& state, const ObjectiveRound&, std::span<float> change, std::span<const float>) {
    for (float& value : change) value *= ++state.rounds;
  }
};

// Says that it sends a vector, and moves the weights by itself.
struct Loud : PlainObjective {
  static constexpr std::string_view kName = "loud", kSummary = "";
  static constexpr auto kFields = std::tuple{};
  static constexpr bool kSends = true;
  static void end(const ObjectiveEnd& round) {
    for (float& value : round.sent) value = 1;
  }
};

}  // namespace

TEST_CASE("every local objective keeps its promises") {
  for (const auto& name : LocalObjectivePart::family().names()) {
    LocalObjective objective;
    objective.choose(name);
    CHECK(complaints(objective) == std::vector<std::string>{});
  }
}

TEST_CASE("broken ones are found") {
  const auto forgetful = complaints(LocalObjective(Forgetful{}));
  REQUIRE(forgetful.size() == 1);
  CHECK(forgetful[0] == "local-objective 'forgetful' does not keep: its server saved and loaded goes on with the same bits");
  const auto loud = complaints(LocalObjective(Loud{}));
  REQUIRE(loud.size() == 1);
  CHECK(loud[0] == "local-objective 'loud' does not keep: no movement and no gradient: nothing is sent, kept or changed");
}

}  // namespace fedstride::test::conformance_test
