// Tails are compared with exact fractions (tests/secagg/tails.py); plans with the conditions that they must keep.
#include "secagg/plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/secagg/federation.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::plan_test {

using namespace secagg;

TEST_CASE("hypergeometric tails are those of exact fractions") {
  const struct {
    unsigned population, marked, drawn, least;
    double log2;
  } cases[] = {{99, 5, 20, 3, -4.19294864344},       {99, 10, 40, 10, -14.1657822886},       {999, 50, 60, 20, -42.3555228705},
               {9999, 500, 120, 40, -73.9096793668}, {99999, 1000, 150, 30, -96.9093046923}, {10, 3, 5, 1, -0.125530882084}};
  for (const auto& one : cases)
    CHECK(log2_hypergeometric_tail(one.population, one.marked, one.drawn, one.least) == doctest::Approx(one.log2).epsilon(1e-8));
  CHECK(log2_hypergeometric_tail(10, 3, 5, 0) == 0);
  CHECK(log2_hypergeometric_tail(10, 8, 5, 3) == 0);
  CHECK(std::isinf(log2_hypergeometric_tail(10, 3, 5, 4)));
}

TEST_CASE("a plan keeps its conditions: one kind of share each is never both secrets, and who may drop out does not stop it") {
  for (const unsigned clients : {3U, 4U, 5U, 10U, 37U, 100U, 300U, 1000U, 10000U}) {
    for (const double share : {0.0, 0.05, 0.1, 0.2}) {
      const Assumed assumed{clients, static_cast<unsigned>(share * clients), static_cast<unsigned>(share / 2 * clients)};
      Plan plan;
      try {
        plan = choose_plan(assumed);
      } catch (const Error&) {
        CHECK(clients > 255);
        continue;
      }
      CAPTURE(clients);
      CHECK(2 * plan.minimum > clients + assumed.colluders);
      CHECK(plan.minimum >= clients - assumed.dropouts);
      CHECK(plan.degree <= 254);
      if (plan.degree + 1 == clients) {
        CHECK(2 * plan.threshold > clients + assumed.colluders);
        CHECK(plan.threshold <= clients - assumed.dropouts);
      } else {
        CHECK(2 * plan.threshold > plan.degree + 1);
        CHECK(plan.degree % 2 == 0);
        if (plan.degree > 2) CHECK_THROWS_AS(choose_plan(assumed, plan.degree - 2), Error);
      }
      CHECK(choose_plan(assumed, plan.degree) == plan);
    }
  }
}

TEST_CASE("plans that are known: a hundred clients, a tenth of whom drop out, five of whom collude") {
  const Plan plan = choose_plan({100, 10, 5});
  CHECK(plan.degree == 28);
  CHECK(plan.threshold == 18);
  CHECK(plan.minimum == 90);
  CHECK_FALSE(plan.splits);
  CHECK(choose_plan({100, 10, 5}, 40).threshold == 24);
  CHECK(choose_plan({100, 9, 0}, 20).threshold == 11);
  CHECK(choose_plan({5, 2, 0}).degree == 4);
  CHECK(choose_plan({5, 2, 0}).threshold == 3);
  CHECK(choose_plan({1000, 50, 0}).splits);
}

TEST_CASE("federations that cannot be borne are refused by name") {
  CHECK_USAGE_ERROR(choose_plan({2, 0, 0}), "secure-aggregation", "3", "2");
  CHECK_USAGE_ERROR(choose_plan({5, 3, 0}), "secure-aggregation", "5 clients", "3 drop-outs", "2 clients");
  CHECK_USAGE_ERROR(choose_plan({5, 1, 3}), "secure-aggregation", "3 colluders");
  CHECK_USAGE_ERROR(choose_plan({100, 10, 5}, 20), "secure-degree", "20");
  CHECK_USAGE_ERROR(choose_plan({100, 10, 5}, 41), "secure-degree", "41");
  CHECK_USAGE_ERROR(choose_plan({10000, 3300, 500}), "254");
}

TEST_CASE("the graph is symmetric, regular and connected, and another roster's hash gives another one") {
  std::vector<ClientId> roster(101);
  std::iota(roster.begin(), roster.end(), 5U);
  for (const unsigned degree : {2U, 20U, 98U, 100U, 150U}) {
    const Graph graph(roster, secret_of("roster").bytes, degree), other(roster, secret_of("another").bytes, degree);
    std::vector<ClientId> reached{roster[0]};
    bool differs = false;
    for (std::size_t next = 0; next < reached.size(); ++next) {
      const auto holders = graph.holders(reached[next]);
      CHECK(holders.size() == std::min(degree, 100U) + 1);
      CHECK(std::ranges::is_sorted(holders));
      differs = differs || holders != other.holders(reached[next]);
      for (const ClientId holder : holders) {
        CHECK(std::ranges::binary_search(graph.holders(holder), reached[next]));
        if (std::ranges::find(reached, holder) == reached.end()) reached.push_back(holder);
      }
    }
    CHECK(reached.size() == roster.size());
    CHECK(differs == (degree < 100));
  }
}

}  // namespace fedstride::test::plan_test
