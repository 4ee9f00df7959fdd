#include "tests/kits/conformance.hpp"

#include <doctest/doctest.h>

#include "client/objectives/dynamic.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::conformance_test {
namespace {

struct UnsavedRounds {
  float rounds = 0;
  template <class Archive>
  void serialize(Archive&) {}
};

// Does not save its count.
struct Forgetful final : ObjectiveBase<Forgetful, NoSettings, UnsavedRounds> {
  static constexpr std::string_view kName = "forgetful", kSummary = "";
  void next(State& state, const ObjectiveRound&, std::span<float> change, std::span<const float>) const override {
    for (float& value : change) value *= ++state.rounds;
  }
};

// Claims to send a vector, and sends ones without any movement.
struct Loud final : ObjectiveBase<Loud> {
  static constexpr std::string_view kName = "loud", kSummary = "";
  bool sends() const override { return true; }
  void end(const ObjectiveEnd& round) const override {
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
  CHECK(names(forgetful[0], {"local-objective", "forgetful", "saved"}));
  const auto loud = complaints(LocalObjective(Loud{}));
  REQUIRE(loud.size() == 1);
  CHECK(names(loud[0], {"local-objective", "loud", "no gradient"}));
}

}  // namespace fedstride::test::conformance_test
