// Under masks or in the ring alone, an accumulator releases the bits of one that sees every update.
#include "server/secure_sum.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "client/report.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "server/accumulator.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::secure_sum_test {
namespace {

constexpr ClientId kClients = 7;
constexpr std::size_t kSize = 1500;

std::vector<ClientId> everyone() {
  std::vector<ClientId> cohort(kClients);
  std::iota(cohort.begin(), cohort.end(), ClientId{0});
  return cohort;
}

SumRules rules_of(bool masks, const char* grid = "", double leaving = 0) {
  SumRules rules;
  for (ClientId client = 0; client < kClients; ++client) rules.weights.push_back(1 + 7 * client);
  rules.secure =
      SecureRules{.masks = masks, .grid = secagg::Grid::read(grid), .dropouts = {0.4}, .leaving = leaving, .lengths = true};
  return rules;
}

Vector change_of(ClientId client) {
  RandomStream random(5, {.purpose = Purpose::test, .client = client});
  Vector change(kSize);
  for (float& value : change) value = static_cast<float>(random.normal() * std::pow(10, -5 * random.uniform()) / 10);
  return change;
}

ClientReport report_of(ClientId client) {
  return {.client = client,
          .rows = client + 100U,
          .examples = 10U + client,
          .loss = 0.1 + client,
          .steps = 5,
          .rejected = client % 2,
          .statistic = 0.3 * std::pow(10.0, 3.0 * client - 9),
          .statistics = 4,
          .alignment = 0.25 / (client + 1),
          .pairs = 3};
}

struct Outcome {
  Vector mean;
  std::optional<RoundTotals> totals;
  std::vector<ClientReport> reports;
};

Outcome outcome_of(const SumRules& rules) {
  Accumulator updates(rules, 3, everyone(), kSize);
  updates.secure(change_of(99));
  for (const ClientId client : {3U, 0U, 6U, 1U, 2U, 5U, 4U}) {
    const Vector change = change_of(client);
    const ClientReport report = report_of(client);
    updates.add({report, view(change)});
  }
  const auto totals = updates.unmask();
  auto reports = updates.reports();
  return {std::move(updates).release().mean().value_or(Vector()), totals, std::move(reports)};
}

}  // namespace

TEST_CASE("on the exact grid the mean has the bits of a plain one, and the totals those of the reports") {
  SumRules plain = rules_of(false);
  plain.secure.reset();
  const Outcome open = outcome_of(plain);
  CHECK_FALSE(open.totals.has_value());
  ExactTotal statistic, alignment;
  for (const ClientReport& report : open.reports) {
    statistic.add(report.statistic);
    alignment.add(report.alignment);
  }
  for (const bool masks : {false, true}) {
    const Outcome outcome = outcome_of(rules_of(masks));
    CHECK(outcome.mean == open.mean);
    REQUIRE(outcome.totals.has_value());
    const ClientReport sums = sum_of(open.reports);
    for_each_report_number([&](const auto& field) {
      if (field.is(ReportRule::secured) && field.adds_up())
        CHECK_MESSAGE(outcome.totals->sums.*field.member == sums.*field.member, field.name);
    });
    CHECK(outcome.totals->sums.statistic == statistic.value());
    CHECK(outcome.totals->sums.alignment == alignment.value());
    CHECK(outcome.totals->sums.statistics == 28);
    CHECK(outcome.totals->sums.pairs == 21);
    CHECK(outcome.totals->sums.examples == 91);
    CHECK(outcome.totals->sums.steps == 35);
    CHECK(outcome.totals->sums.rejected == 3);
    double loss = 0;
    for (const ClientReport& report : open.reports) loss += report.loss * static_cast<double>(report.examples) / 91;
    CHECK(outcome.totals->sums.loss == doctest::Approx(loss));
    CHECK(outcome.totals->mean_square == mean_square_norm(plain, open.reports));
    CHECK(outcome.totals->mean_square > 0);
    REQUIRE(outcome.reports.size() == kClients);
    for (const ClientReport& report : outcome.reports) {
      CHECK(report.rows == report.client + 100);
      CHECK(report.failure.empty());
      CHECK(std::isnan(report.loss));
      CHECK(std::isnan(report.update_norm));
      CHECK(report.examples + report.steps + report.statistics + report.pairs == 0);
      CHECK(report.statistic + report.alignment == 0);
    }
  }
}

TEST_CASE(
    "on a grid the masked mean is the central one on that grid, near the exact one; beyond its range an update is left out") {
  const Outcome exact = outcome_of(rules_of(false));
  for (const char* grid : {"1,2^-16,32", "1,2^-30,64"}) {
    const Outcome masked = outcome_of(rules_of(true, grid)), ring = outcome_of(rules_of(false, grid));
    CHECK(masked.mean == ring.mean);
    CHECK(masked.mean != exact.mean);
    CHECK(masked.totals->sums.statistic == exact.totals->sums.statistic);
    // By hand: every update rounded on its own, and added in the clear.
    const SumRules rules = rules_of(false, grid);
    ExactSum sum(kSize);
    for (const ClientId client : everyone()) {
      const Vector change = change_of(client);
      for (std::size_t first = 0; first < kSize; first += 1024) {
        std::vector<__int128> out(std::min<std::size_t>(1024, kSize - first));
        rules.secure->grid.round(
            view(change).subspan(first, out.size()), rules.weights[client],
            rules.secure->draws.at({Purpose::secure_rounding, 3, client, 0, static_cast<std::uint32_t>(first / 1024)}), out);
        for (std::size_t i = 0; i < out.size(); ++i) sum.integers()[first + i] += out[i] << rules.secure->grid.shift();
      }
      sum.add_weight(rules.weights[client]);
    }
    Vector mean;
    sum.divided_by(static_cast<double>(sum.weight()), mean);
    CHECK(mean == masked.mean);
    for (std::size_t i = 0; i < kSize; i += 100) CHECK(std::fabs(mean[i] - exact.mean[i]) < rules.secure->grid.step * 1.001);
  }
  // The second largest magnitude as the range leaves one update out.
  std::vector<double> largest;
  for (const ClientId client : everyone()) {
    largest.push_back(0);
    const Vector change = change_of(client);
    for (const float value : change) largest.back() = std::max(largest.back(), std::fabs(static_cast<double>(value)));
  }
  std::ranges::sort(largest);
  const std::string range = number_text(largest[kClients - 2]);
  const Outcome narrow = outcome_of(rules_of(false, (range + ",2^-16,32").c_str()));
  CHECK(narrow.mean.size() == kSize);
  int left_out = 0;
  for (const ClientReport& report : narrow.reports)
    if (!report.failure.empty()) {
      ++left_out;
      CHECK(names(report.failure, {"secure-grid", range}));
    }
  CHECK(left_out == 1);
}

TEST_CASE("virtual drop-outs are the same with masks and without; too few survivors end the round with one line") {
  int ended = 0, bereft = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto carried_out = [&](bool masks) -> std::pair<Vector, std::string> {
      SumRules rules = rules_of(masks, "", 0.06);
      rules.secure->draws = RandomSource(seed);
      const Outcome outcome = outcome_of(rules);
      if (outcome.mean.size() > 0) {
        bereft += std::ranges::any_of(outcome.reports, [](const auto& report) { return !report.failure.empty(); }) ? 1 : 0;
        for (const ClientReport& report : outcome.reports)
          if (!report.failure.empty()) CHECK(names(report.failure, {"dropped out before"}));
        auto plain = rules;
        plain.secure.reset();
        std::vector<ClientReport> seen = outcome_of(plain).reports;
        for (std::size_t i = 0; i < seen.size(); ++i) seen[i].failure = outcome.reports[i].failure;
        CHECK(outcome.totals->mean_square == mean_square_norm(plain, seen));
        return {outcome.mean, ""};
      }
      for (const ClientReport& report : outcome.reports) CHECK(report.failure == outcome.reports[0].failure);
      CHECK(outcome.totals->sums.examples == 0);
      return {Vector(), outcome.reports[0].failure};
    };
    const auto masked = carried_out(true), ring = carried_out(false);
    CHECK(masked.first == ring.first);
    CHECK(masked.second.empty() == ring.second.empty());
    ended += masked.second.empty() ? 0 : 1;
  }
  CHECK(ended > 0);
  CHECK(ended < 30);
  CHECK(bereft > 0);
}

TEST_CASE("noise that clients add is in the sum, under masks and without; one whose training diverged adds it all the same") {
  const auto noisy = [](bool masks, float change) {
    SumRules rules = rules_of(masks, "1,2^-16,32");
    rules.weights.assign(kClients, 1);
    rules.denominator = kClients;
    rules.release =
        CentralRelease{UpdateClip(0.5), {.grid = {0.1}, .by_clients = true}, {{0, kSize}}, RandomSource(std::uint64_t{4})};
    rules.secure->noise = std::make_shared<const NoiseShare>(kLaw<SkellamLaw>, 0.5, 0.1 / std::sqrt(kClients), 0x1p-16, kSize);
    rules.secure->own = RandomSource(std::uint64_t{9});
    Accumulator updates(rules, 3, everyone(), kSize);
    updates.secure(change_of(99));
    std::string last;
    for (const ClientId client : everyone()) {
      const Vector one(kSize, client == 2 ? std::numeric_limits<float>::infinity() : change);
      last += updates.add({report_of(client), view(one)});
    }
    CHECK(names(last, {"diverged"}));
    const auto totals = updates.unmask();
    CHECK_FALSE(totals->is_told);
    CHECK(totals->sums.examples + totals->sums.steps == 0);
    for (const ClientReport& report : updates.reports()) CHECK(report.failure.empty());
    return std::move(updates).release().mean().value();
  };
  const Vector masked = noisy(true, 0), ring = noisy(false, 0), moved = noisy(false, 1);
  CHECK(masked == ring);
  double square = 0, difference = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    square += std::pow(kClients * masked[i] / 0.1, 2) / kSize;
    difference += kClients * (moved[i] - masked[i]) / std::sqrt(kSize);
  }
  CHECK(std::abs(square - 1) < 4 * std::sqrt(2.0 / kSize));
  CHECK(difference == doctest::Approx(0.5 * (kClients - 1)).epsilon(1e-3));
}

TEST_CASE("automatic drop-outs and colluders are halved in rounds that no graph could hold them in") {
  SecureRules rules{.dropouts = {0.2, true}, .colluders = {0.1, true}};
  for (const std::size_t clients : {10, 100, 800}) {
    CHECK(rules.assumed(clients).dropouts == clients / 5);
    CHECK(rules.assumed(clients).colluders == clients / 10);
  }
  for (const std::size_t clients : {1000, 10'000}) {
    CHECK(rules.assumed(clients).dropouts == clients / 10);
    CHECK(rules.assumed(clients).colluders == clients / 20);
    CHECK(rules.plan(clients).degree < 150);  // as SecAgg+: by the logarithm
  }
  rules.dropouts = {0.2};
  CHECK(rules.assumed(1000).dropouts == 200);
  CHECK(rules.assumed(1000).colluders == 50);
  rules.colluders = {0.1};
  CHECK_USAGE_ERROR(rules.plan(1000), "1000 clients", "100 colluders");
}

TEST_CASE("a secured sum is released only without its masks, and has no parts") {
  const SumRules rules = rules_of(true);
  Accumulator updates(rules, 3, everyone(), kSize);
  updates.secure(change_of(99));
  CHECK_FAILURE(updates.fresh_part(), "round 3");
  CHECK_FAILURE(std::move(updates).release(), "round 3", "unmasked");
  const std::vector<ClientId> two{1, 2};
  Accumulator few(rules, 3, two, kSize);
  few.secure(change_of(99));
  for (const ClientId client : two) {
    const Vector change = change_of(client);
    const ClientReport report = report_of(client);
    CHECK(names(few.add({report, view(change)}), {"secure-aggregation", "3", "2"}));
  }
  CHECK(few.unmask()->sums.steps == 0);
  CHECK_FALSE(std::move(few).release().mean().has_value());
}

}  // namespace fedstride::test::secure_sum_test
