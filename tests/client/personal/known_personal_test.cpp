// Every kind of personal model of the registry: what its paper does with a client's parameters.
#include "client/personal/personal.hpp"
#include "tests/support/known_answers.hpp"

namespace fedstride::test::known_personal_test {
namespace {

// Settings have their defaults.
struct Known {
  bool keeps = false;
  int epochs = 0;
  double pull = 0;
  std::string_view layers = {};
  int local_first = 0;
};
const KnownAnswers<Known> kKnown = {
    {"none", {}},
    {"fine-tune", {.epochs = 1}},
    {"ditto", {.keeps = true, .epochs = 1, .pull = 0.1}},
    {"local-layers", {.keeps = true, .layers = "last"}},
};

}  // namespace

TEST_CASE("every kind of personal model keeps, trains and pulls what its paper does") {
  for_each_known<Personal>(kKnown, [](const Personal& personal, const Known& expected) {
    CHECK(personal->keeps() == expected.keeps);
    CHECK(personal->epochs() == expected.epochs);
    CHECK(personal->pull() == expected.pull);
    CHECK(personal->layers() == expected.layers);
    CHECK(personal->local_first() == expected.local_first);
  });
}

}  // namespace fedstride::test::known_personal_test
