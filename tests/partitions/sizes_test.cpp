// Partitions that deal rows at random and draw, grade or are given the sizes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.hpp"
#include "partitions/dealing.hpp"
#include "partitions/dirichlet_sizes.hpp"
#include "partitions/given_sizes.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::sizes_test {
namespace {

using Sizes = std::vector<std::size_t>;

Sizes sizes_of(const ClientRows& assignment) {
  Sizes sizes;
  for (const auto rows : assignment) sizes.push_back(rows.size());
  return sizes;
}

ClientRows given(const std::string& sizes, int clients) {
  Example example(round_robin_labels(100, 10), 10, clients);
  return GivenSizes({sizes}).assign(example.input);
}

}  // namespace

TEST_CASE("sizes in proportion: quotas rounded down, rows left to the largest remainders, of equals to the first") {
  CHECK(sizes_in_proportion(std::vector<double>{1, 2, 3}, 60) == Sizes{10, 20, 30});
  // Quotas 3.4, 3.4, 3.2 of ten rows; then 2.5, 2.5, 5 of ten.
  CHECK(sizes_in_proportion(std::vector<double>{3.4, 3.4, 3.2}, 10) == Sizes{4, 3, 3});
  CHECK(sizes_in_proportion(std::vector<double>{1, 1, 2}, 10) == Sizes{3, 2, 5});
  // Nobody is left without a row: the largest gives one.
  CHECK(sizes_in_proportion(std::vector<double>{0, 1, 0, 9}, 10) == Sizes{1, 1, 1, 7});
  CHECK(sizes_in_proportion(std::vector<double>{1, 0, 0}, 3) == Sizes{1, 1, 1});
  // Weights near the ends of the range.
  CHECK(sizes_in_proportion(std::vector<double>{1e308, 1e308, 1e-308}, 11) == Sizes{5, 5, 1});
}

TEST_CASE("linear, square and exponential sizes are those of k + 1, (k + 1)^2 and exp(k)") {
  Example example(round_robin_labels(150, 10), 10, 5);
  CHECK(sizes_of(GivenSizes({"linear"}).assign(example.input)) == Sizes{10, 20, 30, 40, 50});
  Example squares(round_robin_labels(550, 10), 10, 5);
  CHECK(sizes_of(GivenSizes({"square"}).assign(squares.input)) == Sizes{10, 40, 90, 160, 250});
  // exp(k) / (1 + e + e^2) of 1,000: 90.03, 244.73, 665.24.
  Example exponential(round_robin_labels(1000, 10), 10, 3);
  CHECK(sizes_of(GivenSizes({"exponential"}).assign(exponential.input)) == Sizes{90, 245, 665});
  // A thousand clients, whose weights no double holds: ten have shares of a row and more, of 2,000 rows.
  Example many(round_robin_labels(2000, 10), 10, 1000);
  const ClientRows assignment = GivenSizes({"exponential"}).assign(many.input);
  CHECK(holds_every_row_once(assignment, many));
  CHECK(std::ranges::is_sorted(sizes_of(assignment)));
  CHECK(assignment[0].size() == 1);
  CHECK(assignment[990].size() == 1);
}

TEST_CASE("who gets which rows is random: labels are the overall mix") {
  Example example(round_robin_labels(15000, 10), 10, 5);
  const ClientRows assignment = GivenSizes({"linear"}).assign(example.input);
  for (std::size_t client = 0; client < 5; ++client) {
    const std::vector<std::uint32_t> rows(assignment[client].begin(), assignment[client].end());
    const double expected = static_cast<double>(rows.size()) / 10;
    for (const std::size_t count : class_counts(rows, example))
      CHECK(std::abs(static_cast<double>(count) - expected) < 5 * std::sqrt(expected));
  }
}

TEST_CASE("given sizes are kept, in rows or in shares, and rows beyond them are held by nobody") {
  Example example(round_robin_labels(100, 10), 10, 3);
  const auto rows = GivenSizes({"50, 10,20"}).assign(example.input);
  CHECK(sizes_of(rows) == Sizes{50, 10, 20});
  std::vector<std::uint32_t> all(rows.all_rows().begin(), rows.all_rows().end());
  std::ranges::sort(all);
  CHECK(std::ranges::adjacent_find(all) == all.end());
  CHECK(all.back() > 80);  // the rows are drawn, not the first eighty
  CHECK(sizes_of(GivenSizes({"50,30,20"}).assign(example.input)) == Sizes{50, 30, 20});
  CHECK(sizes_of(GivenSizes({"0.7,0.2,0.1"}).assign(example.input)) == Sizes{70, 20, 10});
  CHECK(sizes_of(GivenSizes({"0.25,0.05,0.2"}).assign(example.input)) == Sizes{25, 5, 20});
  Example one(round_robin_labels(100, 10), 10, 1);
  CHECK(sizes_of(GivenSizes({"1"}).assign(one.input)) == Sizes{1});
}

TEST_CASE("sizes that are none are refused in one line") {
  CHECK_NOTHROW(given("30,30,40", 3));
  CHECK_USAGE_ERROR(given("", 1), "sizes", "''");
  CHECK_USAGE_ERROR(given("30,x", 2), "sizes", "'30,x'", "'x'");
  CHECK_USAGE_ERROR(given("30,0", 2), "sizes", "'30,0'", "'0'");
  CHECK_USAGE_ERROR(given("30,-1", 2), "sizes", "'30,-1'", "'-1'");
  CHECK_USAGE_ERROR(given("30,1.5", 2), "sizes", "'30,1.5'", "'1.5'");
  CHECK_USAGE_ERROR(given("0.5,1", 2), "sizes", "'0.5,1'", "'1'");
  CHECK_USAGE_ERROR(given("nan", 1), "sizes", "'nan'");
  CHECK_USAGE_ERROR(given("30,30,40", 2), "sizes", "'30,30,40'", "3", "2");
  CHECK_USAGE_ERROR(given("60,41", 2), "sizes", "'60,41'", "101", "100");
  CHECK_USAGE_ERROR(given("0.6,0.5", 2), "sizes", "'0.6,0.5'", "1.1", "1");
  CHECK_USAGE_ERROR(given("0.006,0.006", 2), "sizes", "'0.006,0.006'", "1", "2");
}

TEST_CASE("a client's share of the rows has the mean and the variance of Dirichlet(beta) over the clients") {
  constexpr int kClients = 5;
  for (const double beta : {0.3, 2.0}) {
    std::vector<double> shares;
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
      Example example(round_robin_labels(2000, 2), 2, kClients, seed);
      shares.push_back(static_cast<double>(DirichletSizes({.size_alpha = beta}).assign(example.input)[2].size()) / 2000);
    }
    const auto count = static_cast<double>(shares.size());
    const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / count;
    double variance = 0;
    for (const double share : shares) variance += (share - mean) * (share - mean) / count;
    // Beta(beta, 4 beta): mean 1/5, variance (1/5)(4/5) / (5 beta + 1).
    const double expected = 0.16 / (kClients * beta + 1);
    CAPTURE(beta);
    CHECK(std::abs(mean - 0.2) < 4 * std::sqrt(expected / count));
    CHECK(variance == doctest::Approx(expected).epsilon(0.2));
  }
}

TEST_CASE("both at once: sizes as Dirichlet over sizes draws them, and few classes a client where alpha is small") {
  Example example(round_robin_labels(4000, 10), 10, 8, 3);
  const ClientRows sizes = DirichletSizes({.size_alpha = 1}).assign(example.input);
  const ClientRows both = DirichletBoth({.alpha = 1e-300, .size_alpha = 1}).assign(example.input);
  CHECK(sizes_of(both) == sizes_of(sizes));
  CHECK(holds_every_row_once(both, example));
  const std::vector<std::uint32_t> first(both[0].begin(), both[0].end());
  CHECK(classes_of(first, example).size() == 1 + (first.size() - 1) / 400);
  // With a huge alpha the first client holds the overall mix.
  const ClientRows even = DirichletBoth({.alpha = 1e300, .size_alpha = 1}).assign(example.input);
  const auto counts = class_counts({even[0].begin(), even[0].end()}, example);
  const double expected = static_cast<double>(even[0].size()) / 10;
  for (const std::size_t count : counts) CHECK(std::abs(static_cast<double>(count) - expected) < 5 * std::sqrt(expected));
}

}  // namespace fedstride::test::sizes_test
