#include "sweep/results/accounting.hpp"

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/files.hpp"
#include "dp/accountants/accountants.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/json.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::accounting_test {

namespace fs = std::filesystem;

namespace {

const std::string kExample = "dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nbatch = 6\noptimizer = 'sgd'\ndelta = 1e-5\n";

LedgerMark mark_of(const std::string& run) {
  const Json summary = Json::parse(read_file(run + "/summary.json"));
  return {.head = summary["ledger_head"], .lines = summary["ledger_lines"]};
}

}  // namespace

TEST_CASE("rounds asked about are evenly spaced and end with the last") {
  CHECK(accounted_rounds(0).empty());
  CHECK(accounted_rounds(3) == std::vector<std::uint32_t>{1, 2, 3});
  const auto many = accounted_rounds(200);
  CHECK(many.size() == 25);
  CHECK(many.front() == 8);
  CHECK(many[1] == 16);
  CHECK(many.back() == 200);
}

TEST_CASE("accountants say of each round what they say of its releases, from the ledger alone") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const RunSummary summary = start(settings_for(folder, "a", kExample + "rounds = 4\n"));
  const auto accounts = account(folder / "a", mark_of(folder / "a"), 4, false);
  REQUIRE(accounts.size() == 4);
  for (const auto& [round, numbers] : accounts) {
    // 60 rows a client, lots of 6: ten releases a round.
    const Spending spent{{.rate = 0.1, .noise_multiplier = 1.2, .count = 10 * round}};
    CHECK(numbers.at("epsilon_by_tight") == doctest::Approx(Tight{}.epsilon(spent, 1e-5).value).epsilon(1e-12));
    CHECK(numbers.at("epsilon_by_rdp") == doctest::Approx(Rdp{}.epsilon(spent, 1e-5).value).epsilon(1e-12));
    CHECK(numbers.at("epsilon_by_as_in_paper") == doctest::Approx(AsInPaper{}.epsilon(spent, 1e-5).value).epsilon(1e-12));
    CHECK_FALSE(numbers.contains("epsilon_by_zcdp"));  // no amplification by sampling
  }
  CHECK(accounts.at(4).at("epsilon_by_tight") == doctest::Approx(summary.privacy.at(0).epsilon).epsilon(1e-9));
}

TEST_CASE("at client level everybody's updates are charged") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  start(settings_for(folder, "a", "dp = 'client'\nnoise-multiplier = 1.5\ndelta = 1e-5\noptimizer = 'sgd'\nrounds = 2\n"));
  const auto accounts = account(folder / "a", mark_of(folder / "a"), 2, false);
  const Spending spent{{.sampling = Sampling::full, .noise_multiplier = 1.5, .count = 2}};
  CHECK(accounts.at(2).at("client_epsilon_by_zcdp") == doctest::Approx(Zcdp{}.epsilon(spent, 1e-5).value).epsilon(1e-12));
}

TEST_CASE("what was computed is kept with the ledger's mark, and computed again if it is not of this ledger or damaged") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  start(settings_for(folder, "a", kExample + "rounds = 2\n"));
  const std::string kept = folder / "a/accounting.json";
  const LedgerMark mark = mark_of(folder / "a");
  const auto accounts = account(folder / "a", mark, 2, false);
  Json stored = Json::parse(read_file(kept));
  CHECK(stored["rounds"]["2"]["epsilon_by_tight"] == accounts.at(2).at("epsilon_by_tight"));
  stored["rounds"]["2"]["epsilon_by_tight"] = 77;
  write_file(kept, stored.dump());
  CHECK(account(folder / "a", mark, 2, false).at(2).at("epsilon_by_tight") == 77);  // it is read, not computed
  for (const std::string& damaged : {std::string("{"), std::string("[]"), std::string(R"({"format":1,"rounds":{"x":{}}})")}) {
    write_file(kept, damaged);
    CHECK(account(folder / "a", mark, 2, false) == accounts);
  }
  stored["ledger_head"] = "another";
  write_file(kept, stored.dump());
  CHECK(account(folder / "a", mark, 2, false) == accounts);
}

TEST_CASE("a broken ledger, or another one than the run's, is refused") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  start(settings_for(folder, "a", kExample + "rounds = 2\n"));
  const fs::path path = folder / "a/ledger.jsonl";
  const std::string ledger = read_file(path);
  const LedgerMark mark = mark_of(folder / "a");
  const LedgerMark other{.head = std::string(64, '0'), .lines = mark.lines};
  CHECK_FAILURE(account(folder / "a", other, 2, false), "ledger.jsonl", "summary.json");
  write_file(path, ledger.substr(0, ledger.rfind('\n', ledger.size() - 2) + 1));
  CHECK_FAILURE(account(folder / "a", mark, 2, false), "ledger.jsonl", "summary.json");
  write_file(path, ledger.substr(0, 20) + "x" + ledger.substr(21));
  CHECK_FAILURE(account(folder / "a", mark, 2, false), "ledger.jsonl", "line 1");
  fs::remove(path);
  CHECK_THROWS_AS(account(folder / "a", mark, 2, false), Error);
}

TEST_CASE("with a secret source the key is needed: without it nothing is said") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  start(settings_for(folder, "a", kExample + "rounds = 1\nrandomness = 'secret'\n"));
  const LedgerMark mark = mark_of(folder / "a");
  CHECK(account(folder / "a", mark, 1, true).at(1).contains("epsilon_by_tight"));
  fs::remove(folder / "a/accounting.json");
  fs::remove(folder / "a/secret.key");
  CHECK(account(folder / "a", mark, 1, true).empty());
}

}  // namespace fedstride::test::accounting_test
