// Every compressor of the registry against its paper: what a fixed vector becomes, and how many bytes it takes.
#include "tests/client/compression/compressors.hpp"
#include "tests/support/known_answers.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::known_compressors_test {
namespace {

// (3, -1.00390625, 0.5, 0, -0.25, 2, 1, -4) in round 1 as client 3 of seed 1, with settings that keep 2, in one bucket of 2 levels and
// on a grid of 1.
struct Known {
  std::vector<double> arrives;
  std::size_t bytes = 0;
};
const KnownAnswers<Known> kKnown = {
    {"none", {{3, -1.00390625, 0.5, 0, -0.25, 2, 1, -4}, 32}},
    {"float16", {{3, -1.00390625, 0.5, 0, -0.25, 2, 1, -4}, 16}},
    {"bfloat16", {{3, -1, 0.5, 0, -0.25, 2, 1, -4}, 16}},  // 1 + 2^-8 is a tie, and goes to the even one
    {"rounding", {{3, -1, 0, 0, 0, 2, 1, -4}, 4}},         // drawn; three bits each, and a byte
    {"qsgd", {{2.79822826, -2.79822826, 0, 0, 0, 2.79822826, 2.79822826, -5.59645653}, 7}},  // drawn; |x| = 5.5965
    {"terngrad", {{0, -4, 0, 0, 0, 4, 4, -4}, 6}},                                           // drawn
    {"sign",
     {{1.46923828125, -1.46923828125, 1.46923828125, 1.46923828125, -1.46923828125, 1.46923828125, 1.46923828125, -1.46923828125},
      5}},
    {"top-k", {{3, 0, 0, 0, 0, 0, 0, -4}, 9}},
    {"random-k", {{0, -4.015625, 2, 0, 0, 0, 0, 0}, 8}},  // drawn
    {"stc", {{3.5, 0, 0, 0, 0, 0, 0, -3.5}, 6}},
    {"power-sgd", {{3, -1.00390625, 0.5, 0, -0.25, 2, 1, -4}, 32}},  // no matrix
    {"drive", {{}, 5}},                                              // as the next test says
};

}  // namespace

TEST_CASE("every compressor sends what its paper says, in as many bytes") {
  const Vector numbers = vector_of({3, -1.00390625F, 0.5, 0, -0.25, 2, 1, -4});
  for_each_known<UpCompression>(kKnown, [&](UpCompression& how, const Known& expected) {
    set_if_there(how, "up-keep", 2.0);
    set_if_there(how, "up-levels", std::int64_t{2});
    set_if_there(how, "up-step", 1.0);
    const Vector there = sent(how, numbers);
    if (!expected.arrives.empty()) check_close({there.begin(), there.end()}, expected.arrives);
    CHECK(code_of(how, numbers).size() == expected.bytes);
  });
}

}  // namespace fedstride::test::known_compressors_test
