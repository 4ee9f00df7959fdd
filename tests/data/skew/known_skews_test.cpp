// Every feature skew of the registry: a client's picture and noise, by hand.
#include "data/skew/feature_skew.hpp"
#include "tests/support/known_answers.hpp"

namespace fedstride::test::known_skews_test {
namespace {

using Bytes = std::vector<std::uint8_t>;
const Bytes kDrawn{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};  // 2 x 2 pixels of three channels: planes

// That picture as client 1 of 4 has it, and the variance of its noise. Settings have their defaults.
struct Known {
  Bytes picture = kDrawn;
  double noise = 0;
};
const KnownAnswers<Known> kKnown = {
    {"none", {}},
    {"noise", {.noise = 0.05}},
    {"rotation", {.picture = {2, 4, 1, 3, 6, 8, 5, 7, 10, 12, 9, 11}}},
    {"color", {.picture = {1, 2, 3, 4, 9, 10, 11, 12, 5, 6, 7, 8}}},
};

}  // namespace

TEST_CASE("every feature skew gives a client the inputs that it says") {
  for_each_known<FeatureSkew>(kKnown, [](const FeatureSkew& skew, const Known& expected) {
    Bytes picture = kDrawn;
    if (skew->redraws(1)) skew->redraw(1, kDrawn.data(), {2, 2, 3}, picture.data());
    CHECK(picture == expected.picture);
    CHECK(skew->noise(1, 4) == doctest::Approx(expected.noise));
  });
}

}  // namespace fedstride::test::known_skews_test
