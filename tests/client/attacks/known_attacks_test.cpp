// Every attack of the registry against the formulas of its paper.
#include <algorithm>

#include "client/attacks/attack.hpp"
#include "tests/support/known_answers.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::known_attacks_test {
namespace {

// Client 7 attacks in round 4 of seed 1, one of 2 attackers among 10 clients. It has row 0 of two pictures, 2 x 3 pixels of two channels,
// all gray, of classes 3 and 9 of ten. Its update is (1, -2). Of 8 others 3 attack, and the honest ones send (1, 0), (2, -1), (6, 4),
// (3, 1) and (0, 2). Settings have their defaults, but a trigger is one pixel, on every row.
struct Known {
  std::vector<Label> labels = {3, 9};
  int white = 0;  ///< pixels in all channels
  std::vector<double> falsified = {1, -2};
  std::vector<double> conspired = {0, 0};
};
const KnownAnswers<Known> kKnown = {
    {"none", {}},
    {"label-flip", {.labels = {6, 9}}},
    {"sign-flip", {.falsified = {-4, 8}}},
    {"gaussian", {.falsified = {-0.604578316, -0.222509608}}},  // drawn at its address (core/random.hpp)
    {"backdoor", {.labels = {0, 9}, .white = 2, .falsified = {5, -10}}},
    {"alie", {.conspired = {1.8783264, 0.7641252}}},  // z = Phi^-1(3/5)
    {"inner-product", {.conspired = {-1.2, -0.6}}},
};

}  // namespace

TEST_CASE("every attack poisons, falsifies and conspires as its paper does") {
  for_each_known<Attack>(kKnown, [](Attack& attack, const Known& expected) {
    set_if_there(attack, "trigger-size", std::int64_t{1});
    set_if_there(attack, "poisoned-share", 1.0);
    Dataset data;
    data.shape = {2, 3, 2};
    data.classes = 10;
    data.pixels.assign(2 * 12, 7);
    data.labels = {3, 9};
    const Row rows[] = {0};
    attack->poison(data, rows, 1);
    CHECK(data.labels == expected.labels);
    CHECK(std::ranges::count(data.pixels, 255) == expected.white);
    CHECK(std::ranges::count(data.pixels, 7) == 24 - expected.white);

    const AttackRound round{.seed = 1, .round = 4, .clients = 10, .attackers = 2};
    Vector change = vector_of({1, -2}), sent(2);
    attack->falsify(round, 7, view(change));
    check_close({change.begin(), change.end()}, expected.falsified);
    const Vector honest[] = {vector_of({1, 0}), vector_of({2, -1}), vector_of({6, 4}), vector_of({3, 1}), vector_of({0, 2})};
    std::vector<std::span<const float>> seen;
    for (const Vector& update : honest) seen.push_back(view(update));
    attack->conspire(round, seen, 3, view(sent));
    check_close({sent.begin(), sent.end()}, expected.conspired);
    CHECK(attack->poisons() == (expected.labels != Known{}.labels));
    CHECK(attack->falsifies() == (expected.falsified != Known{}.falsified));
    CHECK(attack->conspires() == (expected.conspired != Known{}.conspired));
  });
}

}  // namespace fedstride::test::known_attacks_test
