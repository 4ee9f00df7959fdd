#include "server/cohorts.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::cohort_test {
namespace {

const RandomSource kSource(std::uint64_t{9});

std::vector<std::uint64_t> same_rows(std::size_t clients) { return std::vector<std::uint64_t>(clients, 100); }

template <class P>
P of_size(int size) {
  P cohort;
  cohort.cohort_size = size;
  return cohort;
}

}  // namespace

TEST_CASE("all, Poisson and fixed cohorts are functions of the round and the source") {
  const auto fifty = same_rows(50);
  CHECK(AllClients{}.sample({1, same_rows(5), kSource}) == std::vector<ClientId>{0, 1, 2, 3, 4});
  std::size_t drawn = 0;
  std::set<std::vector<ClientId>> seen;
  for (std::uint32_t round = 1; round <= 400; ++round) {
    const auto cohort = PoissonCohort({0.3}).sample({round, fifty, kSource});
    CHECK(cohort == PoissonCohort({0.3}).sample({round, fifty, kSource}));
    drawn += cohort.size();
    seen.insert(cohort);
    const auto fixed = of_size<FixedCohort>(7).sample({round, fifty, kSource});
    CHECK(fixed.size() == 7);
    CHECK(std::set<ClientId>(fixed.begin(), fixed.end()).size() == 7);
  }
  CHECK(seen.size() == 400);
  // 20,000 draws at 0.3: 6,000, standard deviation 65.
  CHECK(std::abs(static_cast<double>(drawn) - 6000) < 5 * 65);
  CHECK(of_size<FixedCohort>(7).rate(50) == doctest::Approx(0.14));
  CHECK_USAGE_ERROR(Cohort(of_size<FixedCohort>(7))->most(3), "cohort-size", "7", "3");
}

// One of clients with 1, 2 and 5 rows: shares 1/8, 2/8 and 5/8 of 8,000 draws, standard deviations 30, 39 and 43. If two are
// drawn, the first is missing with probability 2/8 5/6 + 5/8 2/3 = 0.625.
TEST_CASE("the fewest clients that independent draws select: never below what has a chance of 2^-40") {
  for (const std::size_t clients : {1, 10, 100, 1000})
    for (const double rate : {0.01, 0.3, 0.7, 0.99, 1.0}) {
      const auto n = static_cast<double>(clients);
      const std::size_t least = fewest_drawn(clients, rate);
      CHECK(static_cast<double>(least) <= n * rate);
      double below = 0;  // the chance of fewer
      for (std::size_t k = 0; k < least && rate < 1; ++k)
        below +=
            std::exp(std::lgamma(n + 1) - std::lgamma(static_cast<double>(k) + 1) - std::lgamma(n - static_cast<double>(k) + 1) +
                     static_cast<double>(k) * std::log(rate) + (n - static_cast<double>(k)) * std::log1p(-rate));
      CHECK(below <= std::exp2(-40) * n);
      if (rate < 1) CHECK(fewest_drawn(100 * clients, rate) >= least);
    }
  CHECK(fewest_drawn(10, 1) == 10);
  CHECK(fewest_drawn(10, 0.1) == 0);
  CHECK(fewest_drawn(1000, 0.5) == 383);  // about 500 - sqrt(40 ln 2 * 1000 / 2)
  CHECK(PoissonCohort({.cohort_rate = 0.5}).least(1000) == 383);
  CHECK(AllClients().least(7) == 7);
}

TEST_CASE("by size, the probabilities are proportional to the rows") {
  const std::vector<std::uint64_t> rows{1, 2, 5, 0};
  double drawn[3] = {};
  double missing = 0;
  for (std::uint32_t round = 1; round <= 8000; ++round) {
    ++drawn[of_size<SizeCohort>(1).sample({round, rows, kSource}).at(0)];
    const auto two = of_size<SizeCohort>(2).sample({round, rows, kSource});
    REQUIRE(two.size() == 2);
    CHECK(two[0] < two[1]);
    missing += two[0] != 0;
  }
  CHECK(std::abs(drawn[0] - 1000) < 5 * 30);
  CHECK(std::abs(drawn[1] - 2000) < 5 * 39);
  CHECK(std::abs(drawn[2] - 5000) < 5 * 43);
  CHECK(std::abs(missing - 5000) < 5 * 43);
  CHECK(of_size<SizeCohort>(4).sample({1, rows, kSource}).size() == 3);  // one has no rows
}

TEST_CASE("in turn, all clients take part equally often") {
  const auto rows = same_rows(5);
  const auto turn = [&](std::uint32_t round) { return of_size<RoundRobinCohort>(2).sample({round, rows, kSource}); };
  CHECK(turn(1) == std::vector<ClientId>{0, 1});
  CHECK(turn(2) == std::vector<ClientId>{2, 3});
  CHECK(turn(3) == std::vector<ClientId>{0, 4});
  CHECK(turn(4) == std::vector<ClientId>{1, 2});
  CHECK(turn(6) == turn(1));
  CHECK(turn(4'000'000'001) == turn(1));
}

TEST_CASE("power of choice takes the candidates with the largest losses, unknown ones first") {
  const auto rows = same_rows(6);
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  PowerOfChoiceCohort cohort = of_size<PowerOfChoiceCohort>(2);
  cohort.candidates = 6;
  const auto chosen = [&](std::vector<double> losses) { return cohort.sample({3, rows, kSource, losses}); };
  CHECK(chosen({1, 5, 2, 4, 3, 0}) == std::vector<ClientId>{1, 3});
  CHECK(chosen({1, 5, 2, kUnknown, 3, 0}) == std::vector<ClientId>{1, 3});
  CHECK(chosen({1, 5, kUnknown, kUnknown, 3, 0}) == std::vector<ClientId>{2, 3});
  cohort.candidates = 2;  // no choice: the candidates themselves
  CHECK(chosen({1, 5, 2, 4, 3, 0}) == draw_by_size({3, rows, kSource}, 2));
}

TEST_CASE("a trace lists available clients, and impossible lines are refused") {
  const TemporaryFolder folder;
  const auto trace = [&](const std::string& name, const std::string& lines) {
    write_file(folder / name, lines);
    TraceCohort cohort;
    cohort.trace = folder / name;
    return cohort;
  };
  const auto rows = same_rows(5);
  TraceCohort good = trace("good.csv", "client,from,to\n3,1,2\n\n0,2,4\r\n3,2,3\n4,2,2\n");
  const auto there = [&](std::uint32_t round) { return good.sample({round, rows, kSource}); };
  CHECK(there(1) == std::vector<ClientId>{3});
  CHECK(there(2) == std::vector<ClientId>{0, 3, 4});
  CHECK(there(4) == std::vector<ClientId>{0});
  CHECK(there(5).empty());
  good.at_most = 2;
  CHECK(there(2).size() == 2);
  CHECK(good.file_hash(5) == good.file_hash(6));
  CHECK_USAGE_ERROR(good.file_hash(4), "good.csv", "client 4", "0", "3");

  CHECK_USAGE_ERROR(trace("empty.csv", "").file_hash(5), "empty.csv");
  CHECK_USAGE_ERROR(trace("header.csv", "client,from\n").file_hash(5), "header.csv", "line 1", "'client,from'", "client,from,to");
  int number = 0;
  for (const std::string line : {"1,2", "1,2,x", "-1,2,3", "1,3,2", "1,0,2", "5000000000,1,2"}) {
    const std::string name = std::to_string(++number) + ".csv";
    CHECK_USAGE_ERROR(trace(name, "client,from,to\n" + line + "\n").file_hash(5), name, "line 2", "'" + line + "'");
  }
  CHECK_USAGE_ERROR(TraceCohort{}.file_hash(5), "cohort", "--trace");
}

}  // namespace fedstride::test::cohort_test
