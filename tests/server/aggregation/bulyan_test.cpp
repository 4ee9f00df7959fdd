#include "server/aggregation/bulyan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/random.hpp"
#include "tests/kits/conformance.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::bulyan_test {
namespace {

/// Bulyan exactly as in the paper, without reusing anything between steps.
std::vector<double> by_the_paper(const std::vector<Vector>& changes, std::size_t attackers) {
  std::vector<const Vector*> left;
  for (const Vector& change : changes) left.push_back(&change);
  std::vector<const Vector*> selection;
  while (selection.size() < changes.size() - 2 * attackers) {
    std::vector<double> scores;
    for (const Vector* one : left) {
      std::vector<double> distances;
      for (const Vector* other : left) {
        double sum = 0;
        for (std::size_t i = 0; i < one->size(); ++i) sum += std::pow(double{(*one)[i]} - double{(*other)[i]}, 2);
        if (one != other) distances.push_back(sum);
      }
      std::ranges::sort(distances);
      const std::size_t count = std::max<std::size_t>(1, std::max(left.size(), attackers + 2) - attackers - 2);
      double score = 0;
      for (std::size_t i = 0; i < std::min(count, distances.size()); ++i) score += distances[i];
      scores.push_back(score);
    }
    const auto best = std::ranges::min_element(scores) - scores.begin();
    selection.push_back(left[best]);
    left.erase(left.begin() + best);
  }
  std::vector<double> result;
  for (std::size_t i = 0; i < changes[0].size(); ++i) {
    std::vector<double> values;
    for (const Vector* change : selection) values.push_back((*change)[i]);
    std::ranges::sort(values);
    const double median = values[(values.size() - 1) / 2];
    std::ranges::stable_sort(values, {}, [&](double value) { return std::abs(value - median); });
    double sum = 0;
    for (std::size_t k = 0; k < values.size() - 2 * attackers; ++k) sum += values[k];
    result.push_back(sum / static_cast<double>(values.size() - 2 * attackers));
  }
  return result;
}

}  // namespace

TEST_CASE("seven points worked out by hand") {
  // f = 1, theta = 5, at 10 + 0, 1, 2, 4, 7, 11, 1000. Without the 10 Krum takes
  //   of seven, by 4 neighbors: scores 70, 47, 34, 38, 86, ...: the point 2
  //   of six (0 1 4 7 11 1000), by 3: 66, 46, 34, 61, 165: 4
  //   of five (0 1 7 11 1000), by 2: 50, 37, 52, 116: 1
  //   of four (0 7 11 1000), by 1: 49, 16, 16: 7, the smaller client
  //   of three (0 11 1000), by 1: 121, 121: 0
  // Among 0, 1, 2, 4, 7 the three nearest to the median 2 are 2, 1 and, of 0 and 4, 0: their mean is 1.
  TriedRound round;
  for (const float value : {0.0F, 1.0F, 2.0F, 4.0F, 7.0F, 11.0F, 1000.0F}) round.changes.push_back(vector_of({10 + value}));
  CHECK(aggregated(Bulyan({.byzantine = 1}), round) == vector_of({11}));
}

TEST_CASE("the median of an even number is the smaller middle value, and of two equally near values the smaller is kept") {
  // f = 1, theta = 6: Krum never takes the outliers -50 and 1000. Among 0, 1, 2, 8, 9, 10 the four nearest to the median 2 are 2,
  // 1, 0 and 8; with a median of 5 they would be 2, 8, 1 and 9, with 8 the others. Among 0, 1, 4, 7, 8, 9 the median is 4: 4, 1,
  // 7 and, of 0 and 8, 0.
  const auto result = [](std::initializer_list<float> values) {
    TriedRound round;
    for (const float value : values) round.changes.push_back(vector_of({value}));
    return aggregated(Bulyan({.byzantine = 1}), round);
  };
  CHECK(result({0, 1, 2, 8, 9, 10, -50, 1000}) == vector_of({11.0F / 4}));
  CHECK(result({0, 1, 4, 7, 8, 9, -50, 1000}) == vector_of({12.0F / 4}));
}

TEST_CASE("the same result as the paper's steps one by one") {
  for (const std::size_t attackers : {0, 1, 2, 3}) {
    for (const std::size_t more : {0, 1, 6}) {
      TriedRound round;
      for (std::uint32_t k = 0; k < 4 * attackers + 3 + more; ++k) {
        RandomStream random(5, {.purpose = Purpose::test, .row = k});
        round.changes.emplace_back(70);
        for (float& value : round.changes.back()) value = static_cast<float>(random.normal() * (k % 5 == 0 ? 4 : 1));
      }
      const auto change = aggregated(Bulyan({.byzantine = static_cast<int>(attackers)}), round);
      const std::vector<double> expected = by_the_paper(round.changes, attackers);
      REQUIRE(change);
      double error = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) error = std::max(error, std::abs((*change)[i] - expected[i]));
      CHECK(error < 1e-6);
    }
  }
}

TEST_CASE("scores in which huge terms cancel are recomputed") {
  // Twelve updates near 0, eleven near 1e6, f = 5. With a and b of them left a sum has b - 6 and a - 6 far neighbors, each a term
  // of 3e12; Krum takes from the larger group, so from a = b = 6 on there are none, and sums of 1e-5 decide.
  TriedRound round;
  for (std::uint32_t k = 0; k < 23; ++k) {
    RandomStream random(5, {.purpose = Purpose::test, .row = k});
    round.changes.emplace_back(3);
    for (float& value : round.changes.back()) {
      const auto drawn = static_cast<float>(random.normal());
      value = k % 2 == 0 ? 1e-3F * drawn : 1e6F + drawn;
    }
  }
  const auto change = aggregated(Bulyan({.byzantine = 5}), round);
  const std::vector<double> expected = by_the_paper(round.changes, 5);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK((*change)[i] == doctest::Approx(expected[i]).epsilon(1e-6));
}

TEST_CASE("without attackers it is the mean") {
  const TriedRound round{{vector_of({1, 4}), vector_of({2, 4}), vector_of({6, 1})}};
  CHECK(aggregated(Bulyan({.byzantine = 0}), round) == vector_of({3, 3}));
}

TEST_CASE("the fewest updates are 4 f + 3, and fewer give no change") {
  CHECK(Bulyan({.byzantine = 0}).least_updates() == 3);
  CHECK(Bulyan({.byzantine = 2}).least_updates() == 11);
  CHECK_FALSE(aggregated(Bulyan({.byzantine = 1}), {std::vector<Vector>(6, vector_of({1}))}));
}

}  // namespace fedstride::test::bulyan_test
