#include "sweep/cells/halving.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace fedstride::test::halving_test {

TEST_CASE("successive halving has the rungs of the rows of Hyperband's table 1") {
  CHECK(halving_bracket(81, 1, 81, 3) == Bracket{{81, 1}, {27, 3}, {9, 9}, {3, 27}, {1, 81}});
  CHECK(halving_bracket(27, 3, 81, 3) == Bracket{{27, 3}, {9, 9}, {3, 27}, {1, 81}});
  CHECK(halving_bracket(9, 9, 81, 3) == Bracket{{9, 9}, {3, 27}, {1, 81}});
  CHECK(halving_bracket(6, 27, 81, 3) == Bracket{{6, 27}, {2, 81}});
  CHECK(halving_bracket(5, 81, 81, 3) == Bracket{{5, 81}});
}

TEST_CASE("rungs are no more than rounds and configurations allow") {
  CHECK(halving_bracket(16, 1, 10, 2) == Bracket{{16, 1}, {8, 2}, {4, 5}, {2, 10}});
  CHECK(halving_bracket(100, 5, 81, 3) == Bracket{{100, 9}, {33, 27}, {11, 81}});
  CHECK(halving_bracket(4, 1, 81, 3) == Bracket{{4, 27}, {1, 81}});
  CHECK(halving_bracket(2, 1, 81, 3) == Bracket{{2, 81}});
  CHECK(halving_bracket(1'000'000, 1, 2'000'000'000, 1000) == Bracket{{1'000'000, 2000}, {1000, 2'000'000}, {1, 2'000'000'000}});
}

TEST_CASE("Hyperband's brackets are those of its algorithm 1, and none costs more than a fifth of the budget") {
  const std::vector<Bracket> brackets = hyperband_brackets(1000, 1, 81, 3);
  CHECK(brackets == std::vector<Bracket>{{{81, 1}, {27, 3}, {9, 9}, {3, 27}, {1, 81}},
                                         {{34, 3}, {11, 9}, {3, 27}, {1, 81}},
                                         {{15, 9}, {5, 27}, {1, 81}},
                                         {{8, 27}, {2, 81}},
                                         {{5, 81}}});
  for (const Bracket& bracket : brackets) {
    std::size_t work = 0;
    for (const Rung& rung : bracket) work += rung.configurations * rung.rounds;
    CHECK(work <= 5 * 81);
  }
  CHECK(hyperband_brackets(9, 1, 81, 3) == std::vector<Bracket>{{{9, 9}, {3, 27}, {1, 81}}, {{5, 27}, {1, 81}}, {{3, 81}}});
}

TEST_CASE("a share has Wilson's interval, a mean over seeds Student's") {
  const Score half = score_of_share(0.5, 10);
  CHECK(half.low == doctest::Approx(0.23659).epsilon(1e-4));
  CHECK(half.high == doctest::Approx(0.76341).epsilon(1e-4));
  const Score none = score_of_share(0, 10);  // z^2 / (n + z^2) is its upper end
  CHECK(none.low == 0);
  CHECK(none.high == doctest::Approx(3.841459 / 13.841459).epsilon(1e-6));
  CHECK(std::isnan(score_of_share(0.5, 0).low));
  const Score seeds = score_of_seeds({1, 2, 3});
  CHECK(seeds.value == 2);
  CHECK(seeds.low == doctest::Approx(2 - 4.302653 / std::sqrt(3)).epsilon(1e-6));
  CHECK(seeds.high == doctest::Approx(2 + 4.302653 / std::sqrt(3)).epsilon(1e-6));
  CHECK(score_of_seeds({0.5}).value == 0.5);
  CHECK(std::isnan(score_of_seeds({0.5}).low));
}

TEST_CASE("a rung is ordered by score, then number; who is near the cut is said") {
  const auto at = [](std::size_t number, double value, double low, double high) {
    return RungPlace{.configuration = number, .score = {value, low, high}};
  };
  const RungOrder order = order_rung(
      {at(0, 0.5, 0.4, 0.6), at(1, NAN, NAN, NAN), at(2, 0.8, 0.7, 0.9), at(3, 0.9, 0.85, 0.95), at(4, 0.8, 0.7, 0.9)}, 2, true);
  std::vector<std::size_t> numbers;
  for (const RungPlace& one : order.places) numbers.push_back(one.configuration);
  CHECK(numbers == std::vector<std::size_t>{3, 2, 4, 0, 1});
  CHECK(order.cut == doctest::Approx(0.8));
  CHECK((order.places[1].goes_on && !order.places[2].goes_on));
  CHECK(!order.places[0].is_near_cut);  // 0.85 to 0.95
  CHECK((order.places[1].is_near_cut && order.places[2].is_near_cut && !order.places[3].is_near_cut));
  CHECK(order.is_toss_up());

  const RungOrder clear = order_rung({at(0, 2.0, 1.9, 2.1), at(1, 0.5, 0.4, 0.6)}, 1, false);
  CHECK(clear.places[0].configuration == 1);  // a loss
  CHECK(clear.cut == 1.25);
  CHECK(!clear.is_toss_up());
  CHECK(std::isnan(order_rung({at(0, 2.0, 1.9, 2.1)}, 1, false).cut));
}

}  // namespace fedstride::test::halving_test
