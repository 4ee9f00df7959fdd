#include "dp/ledger/audit.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "dp/ledger/ledger.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::audit_test {
namespace {

LedgerHeader header(const std::string& accountant = "rdp", double budget = 3) {
  return {.clients = 3,
          .statements = {{.level = Level::example, .accountant = accountant, .delta = 1e-5, .epsilon = budget},
                         {.level = Level::client,
                          .accountant = "zcdp",
                          .delta = 1e-6,
                          .largest_weight = 2,
                          .bound = 1.5,
                          .noise_at = "central"}}};
}

LedgerGroup sums(std::uint64_t count, std::vector<ClientId> clients = {}, Sampling sampling = Sampling::poisson) {
  return {.clients = std::move(clients),
          .each = {.sampling = sampling, .rate = sampling == Sampling::full ? 1 : 0.01},
          .runs = {{4, 2, count}}};
}

LedgerGroup updates(double weight = 1) {
  return {.level = Level::client, .each = {.sampling = Sampling::full}, .runs = {{10, 1.5, 1}}, .largest_weight = weight};
}

// The audit of a ledger with these lines, right or wrong.
Audit audit_of(const LedgerHeader& head, const std::vector<LedgerEntry>& entries, bool each_client = false) {
  LedgerBook book(head);
  for (LedgerEntry entry : entries) {
    entry.groups = canonical(std::move(entry.groups), head.clients);
    book.add(entry);
  }
  return audit_book(book, each_client);
}

LedgerEntry reserve(std::uint32_t round, LedgerGroups groups, const std::string& digest = "a") {
  return {.round = round, .digest = digest, .groups = std::move(groups)};
}
LedgerEntry close(std::uint32_t round, LedgerGroups groups) {
  return {.closes = true, .round = round, .groups = std::move(groups)};
}

void fails(const Audit& audit, std::initializer_list<std::string_view> parts) {
  REQUIRE(audit.failures.size() >= 1);
  CAPTURE(audit.failures.front());
  CHECK(names(audit.failures.front(), parts));
  CHECK(audit_text(audit).find(audit.failures.front()) != std::string::npos);
}

TEST_CASE("every statement comes from the ledger alone, by two accountants") {
  // Client 1 did 10,000 steps at q 0.01, sigma 4: exactly 0.946867 at delta 1e-5.
  const Audit audit = audit_of(
      header("tight"),
      {reserve(1, {sums(10'000, {1}), sums(4000, {0}), updates()}), close(1, {sums(10'000, {1}), sums(4000, {0}), updates()})},
      true);
  CHECK(audit.failures.empty());
  REQUIRE(audit.statements.size() == 5);
  const auto& model = audit.statements[0];
  CHECK(model.statement.who == "the released model (largest: client 1)");
  CHECK(model.statement.epsilon >= 0.946866);
  CHECK(model.statement.epsilon <= 0.946867 + 2e-4);
  CHECK(model.second == "rdp");
  CHECK(model.second_epsilon > model.statement.epsilon);
  CHECK(model.second_epsilon < 1.1);
  CHECK(audit.statements[1].statement.epsilon < model.statement.epsilon);
  CHECK(audit.statements[2].statement.epsilon == model.statement.epsilon);
  CHECK(audit.statements[3].statement.epsilon == 0);  // client 2 did nothing
  const auto& clients = audit.statements[4];
  CHECK(clients.statement.level == Level::client);
  CHECK(clients.second == "tight");
  CHECK(clients.second_epsilon < clients.statement.epsilon);
}

TEST_CASE("a reservation that was never closed counts, and is noted") {
  const Audit open = audit_of(header(), {reserve(1, {sums(10'000)})});
  const Audit closed = audit_of(header(), {reserve(1, {sums(10'000)}), close(1, {sums(10'000)})});
  CHECK(open.statements[0].statement.epsilon == closed.statements[0].statement.epsilon);
  REQUIRE(open.notes.size() >= 1);
  CHECK(names(open.notes.back(), {"round 1"}));
}

TEST_CASE("an audit fails on what a ledger must not hold") {
  fails(audit_of(header(), {reserve(1, {sums(10)}), close(1, {sums(10)}), reserve(1, {sums(10)}, "b")}), {"round 1", "a", "b"});
  fails(audit_of(header(), {reserve(1, {sums(10), sums(5, {1}, Sampling::full)})}), {"round 1", "client 1", "release 0"});
  fails(audit_of(header(), {reserve(1, {sums(10)}), close(1, {sums(11)})}), {"round 1", "11", "0", "10"});
  fails(audit_of(header(), {close(1, {sums(11)})}), {"round 1", "reserved"});
  fails(audit_of(header(), {reserve(1, {updates()}), close(1, {updates(2.5)})}), {"round 1", "weight", "2.5", "2"});
  fails(audit_of(header("rdp", 0.5), {reserve(1, {sums(10'000)})}), {"example level", "budget", "0.5"});
  fails(audit_of(header("tigt"), {reserve(1, {sums(1)})}), {"'tigt'", "'tight'"});
}

TEST_CASE("an audit fails on an accountant that cannot account for the sampling") {
  const Audit audit = audit_of(header("tight"), {reserve(1, {sums(10, {2}, Sampling::without_replacement), sums(5, {0})})});
  fails(audit, {"example level", "client 2", "'tight'", "replace-one"});
  CHECK(std::isinf(audit.statements[0].statement.epsilon));
  CHECK(audit_json(audit).find("\"epsilon\": null") != std::string::npos);
  LedgerGroup adaptive = sums(10);
  adaptive.each.adaptive = true;
  fails(audit_of(header("tight"), {reserve(1, {adaptive})}), {"example level", "'tight'", "zcdp"});
}

TEST_CASE("shuffled lots are labelled: what holds, and the papers' number beside it") {
  LedgerGroup shuffled = sums(200, {}, Sampling::shuffle);
  shuffled.each.passes = 2;
  const Audit audit = audit_of(header("rdp", 100), {reserve(1, {shuffled})});
  const PrivacyStatement& statement = audit.statements[0].statement;
  REQUIRE(statement.as_in_papers.has_value());
  CHECK(*statement.as_in_papers < statement.epsilon);
  // Two full releases at sigma 4, mu = sqrt(2)/4: more than a sampled one could cost.
  CHECK(statement.epsilon > 1);
  CHECK(statement_text(statement).find(epsilon_text(*statement.as_in_papers)) != std::string::npos);
  CHECK(std::ranges::any_of(statement.assumptions, [](const auto& one) { return names(one, {"shuffled", "amplification"}); }));
}

TEST_CASE("statements say to whom they apply and under what conditions") {
  LedgerBook book(header());
  book.add(reserve(1, {sums(10'000, {0}), sums(100, {1}), updates()}));
  const auto statements = model_statements(book);
  REQUIRE(statements.size() == 2);
  for (const PrivacyStatement& statement : statements)
    for (const std::string& assumption : statement.assumptions) {
      CAPTURE(assumption);
      CHECK(statement_text(statement).find(assumption) != std::string::npos);
      CHECK(statement_json(statement).find(assumption) != std::string::npos);
    }
  const auto has = [](const PrivacyStatement& statement, std::initializer_list<std::string_view> parts) {
    CAPTURE(statement_text(statement));
    CHECK(std::ranges::any_of(statement.assumptions, [&](const std::string& one) { return names(one, parts); }));
  };
  has(statements[0], {"add-remove"});
  has(statements[0], {"largest", "sum"});
  has(statements[0], {"public"});
  has(statements[0], {"seed"});
  has(statements[0], {"sweep"});
  has(statements[1], {"1.5", "2"});
  has(statements[1], {"amplification"});
  has(statements[1], {"drawn"});
  has(statements[1], {"level"});
  CHECK(epsilon_text(0.94681) == "0.9469");
  CHECK(epsilon_text(0.000123) == "0.000123");
  CHECK(epsilon_text(INFINITY) == "infinite");
}

TEST_CASE("the largest epsilon is the same whether or not clients that cost less are computed") {
  SpendingTotals totals(40);
  for (ClientId client = 0; client < 40; ++client) {
    LedgerGroup group = sums(100 + (client * 7) % 40, {client});
    group.each.rate = 0.01 + 0.001 * ((client * 11) % 40);
    totals.add(group);
  }
  const auto all = history_epsilons(totals, Rdp{}, 1e-5, false);
  const auto some = history_epsilons(totals, Rdp{}, 1e-5, true);
  CHECK(*std::ranges::max_element(all) == *std::ranges::max_element(some));
  for (std::size_t i = 0; i < all.size(); ++i) CHECK((some[i] == all[i] || some[i] == 0));
  CHECK(std::ranges::count(some, 0.0) > 0);
}

TEST_CASE("the audit of a file looks at every mark") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  LedgerMark early;
  LedgerMark late;
  {
    Ledger ledger = Ledger::create(path, header());
    ledger.reserve(1, "a", {sums(10)});
    early = ledger.mark();
    ledger.close(1, {sums(10)});
    ledger.sync();
    late = ledger.mark();
  }
  CHECK(audit_ledger(path, {late, early}, "", false).lines == 3);
  CHECK(audit_ledger(path, {}, "", false).notes.size() == audit_ledger(path, {late, early}, "", false).notes.size() + 1);
  LedgerMark other = early;
  other.head[0] = other.head[0] == '0' ? '1' : '0';
  CHECK_THROWS_AS(audit_ledger(path, {late, other}, "", false), Error);
  CHECK_THROWS_AS(audit_ledger(path, {late}, "key", false), Error);
}

}  // namespace
}  // namespace fedstride::test::audit_test
