// Runs with balls-in-bins lots and cohorts: what the ledger charges, same bits, budgets, what they do not go with.
#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/files.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/ledger/audit.hpp"
#include "sim/run/ledger_terms.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/bounds.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::balls_in_bins_run_test {
namespace {

// 60 rows a client.
const std::string kBins = "dp = 'example'\nsampling = 'balls-in-bins'\nnoise-multiplier = 1\noptimizer = 'sgd'\nbatch = 30\n";
const std::string kCohort =
    "dp = 'client'\ncohort = 'balls-in-bins'\ncohort-bins = 2\nnoise-multiplier = 1\noptimizer = 'sgd'\nlearning-rate = 0.1\n";

Settings settings_with(const TemporaryFolder& folder, const std::string& out, const std::string& base, const std::string& more) {
  Settings settings = settings_for(folder, out, base);
  for (const auto& [key, setting] : parse_settings(more, "more")) settings[key] = setting;
  return settings;
}

Spending charged(const std::string& folder, Level level = Level::example) {
  const LedgerReading reading = read_ledger(folder + "/ledger.jsonl");
  CHECK(audit_book(reading.book, true).failures.empty());
  return level == Level::example ? reading.book.spent(0) : reading.book.spent_by_update();
}

void check_two_bins(const Spending& spending) {
  const std::pair<double, double> known[] = {{0.5, 0.149178}, {1, 0.059206}, {2, 0.004746}};
  for (const auto& [epsilon, expected] : known)
    CHECK(Tight{}.delta(spending, epsilon).value == doctest::Approx(expected).epsilon(1e-5));
}

}  // namespace

TEST_CASE("the ledger of a run charges an epoch in two bins by their pair of distributions, and an epoch in one as Gaussian") {
  const TemporaryFolder folder;
  write_data(folder);
  const RunSummary summary = start(settings_with(folder, "a", kBins, "rounds = 1\n"));
  check_two_bins(charged(folder / "a"));
  REQUIRE(summary.privacy.size() == 1);
  CHECK(summary.privacy[0].accountant == "tight");
  CHECK(statement_text(summary.privacy[0]).find("balls-in-bins sampling); 1 epoch") != std::string::npos);
  // Four epochs in two rounds at twice the noise are one.
  start(settings_with(folder, "b", kBins, "noise-multiplier = 2\nlocal-epochs = 2\nrounds = 2\n"));
  check_two_bins(charged(folder / "b"));
  start(settings_with(folder, "c", kBins, "batch = 60\nrounds = 1\n"));
  CHECK(Tight{}.delta(charged(folder / "c"), 1).value == doctest::Approx(gaussian_delta(1, 1)).epsilon(1e-9));
}

TEST_CASE("runs in bins have the same bits on any threads, with every optimizer, and after a kill") {
  const TemporaryFolder folder;
  write_data(folder);
  for (const std::string optimizer : {"sgd", "adadp", "pooled"}) {
    CAPTURE(optimizer);
    const std::string more = "batch = 8\noptimizer = '" + optimizer + "'\n";
    start(settings_with(folder, optimizer + "-a", kBins, more + "rounds = 4\nthreads = 4\n"));
    const std::string first = optimizer == "pooled" ? "rounds = 4\n" : "rounds = 2\n";
    start(settings_with(folder, optimizer + "-b", kBins, more + first + "threads = 1\n"));
    if (optimizer != "pooled") resume(folder / (optimizer + "-b"), {{"rounds", {std::int64_t{4}}}});
    CHECK(hashes(folder / (optimizer + "-a")) == hashes(folder / (optimizer + "-b")));
    CHECK(charged(folder / (optimizer + "-a"))[0].passes == charged(folder / (optimizer + "-b"))[0].passes);
  }
  start(settings_with(folder, "poisson", kBins, "batch = 8\nsampling = 'poisson'\nrounds = 1\n"));
  CHECK(hashes(folder / "poisson")[0] != hashes(folder / "sgd-a")[0]);
  const std::string ledger = read_file(folder / "sgd-a/ledger.jsonl");
  CHECK(ledger.find("\"each\":{\"rate\":0.125,\"passes\":1}") != ledger.npos);
}

TEST_CASE("a budget ends a run at whole epochs of bins, and noise is calibrated for them") {
  const TemporaryFolder folder;
  write_data(folder);
  const RunSummary ended =
      start(settings_with(folder, "a", kBins, "batch = 6\nnoise-multiplier = 2\nepsilon = 1.4\nrounds = 50\n"));
  CHECK_FALSE(ended.halted.empty());
  CHECK(ended.privacy[0].epsilon <= 1.4);
  CHECK(ended.rounds > 1);
  Spending one_more = charged(folder / "a");
  one_more[0].passes += 1;
  CHECK(Tight{}.epsilon(one_more, 1e-5).value > 1.4);
  CHECK(one_more[0].count % 10 == 0);
  const RunSummary calibrated = start(settings_for(folder, "b",
                                                   "dp = 'example'\nsampling = 'balls-in-bins'\nepsilon = 2\noptimizer = "
                                                   "'sgd'\nbatch = 6\nrounds = 2\npartition = 'dirichlet'\n"));
  CHECK(calibrated.privacy[0].epsilon <= 2);
  CHECK(calibrated.privacy[0].epsilon > 1.97);
}

TEST_CASE("clients in one round of each cycle: charged once a cycle, from its first round on") {
  const TemporaryFolder folder;
  write_data(folder);
  const RunSummary summary = start(settings_with(folder, "a", kCohort, "clients = 6\nrounds = 2\n"));
  check_two_bins(charged(folder / "a", Level::client));
  CHECK(statement_text(summary.privacy.at(0)).find("of every cycle (balls-in-bins cohorts)") != std::string::npos);
  std::size_t taking_part = 0;
  for (const auto& line : lines(folder / "a/rounds.jsonl")) taking_part += line["clients"].size();
  CHECK(taking_part == 6);
  // A cycle that has begun counts in full.
  start(settings_with(folder, "b", kCohort, "clients = 6\nrounds = 1\n"));
  CHECK(charged(folder / "b", Level::client)[0].passes == 1);
  resume(folder / "b", {{"rounds", {std::int64_t{3}}}});
  start(settings_with(folder, "c", kCohort, "clients = 6\nrounds = 3\nthreads = 1\n"));
  CHECK(hashes(folder / "b") == hashes(folder / "c"));
  CHECK(charged(folder / "b", Level::client)[0].passes == 2);
  CHECK(compare_with_settings(folder / "b/ledger.jsonl", "",
                              resolve(settings_with(folder, "b", kCohort, "clients = 6\nrounds = 3\n")))
            .contradictions.empty());
  for (const std::string& rule : bounds_on_updates()) {
    const RunSummary calibrated =
        start(settings_for(folder, rule,
                           "dp = 'client'\ncohort = 'balls-in-bins'\ncohort-bins = 3\nepsilon = 3\noptimizer = 'sgd'\nrounds = "
                           "5\nclip-rule = '" +
                               rule + "'\n"));
    CHECK(calibrated.privacy[0].epsilon <= 3);
    CHECK(calibrated.privacy[0].epsilon > 2.97);
    CHECK(calibrated.halted.empty());
  }
}

TEST_CASE("a ledger that goes on with bins of clients without the cycle's first round is found out") {
  LedgerHeader header{
      .clients = 3,
      .statements = {{.level = Level::client, .accountant = "tight", .delta = 1e-5, .bound = 1, .noise_at = "central"}}};
  const auto group = [](std::uint64_t first, double noise) {
    return LedgerGroup{.level = Level::client,
                       .each = {.sampling = kSampling<BallsInBins>, .rate = 0.25, .passes = 1},
                       .first = first,
                       .runs = {{noise, 1, 1}}};
  };
  const auto problems = [&](std::vector<std::pair<std::uint32_t, LedgerGroup>> rounds) {
    LedgerBook book(header);
    for (const auto& [round, one] : rounds) {
      CHECK(malformed({one}, header).empty());
      book.add({.round = round, .digest = std::to_string(round), .groups = {one}});
    }
    return book.problems().size();
  };
  CHECK(problems({{1, group(0, 1)}, {2, group(1, 1)}, {4, group(3, 1)}, {5, group(4, 1)}}) == 0);
  CHECK(problems({{2, group(1, 1)}}) == 1);
  CHECK(problems({{1, group(0, 1)}, {6, group(5, 1)}}) == 1);
  CHECK(problems({{1, group(0, 1)}, {2, group(1, 0.5)}}) == 1);
  CHECK(problems({{1, group(0, 1)}, {9, group(1, 1)}}) == 1);
  LedgerGroup wrong = group(0, 1);
  wrong.each.rate = 0.3;
  CHECK(malformed({wrong}, header).find("0.3") != std::string::npos);
  wrong = group(0, 1);
  wrong.runs[0].count = 2;
  CHECK_FALSE(malformed({wrong}, header).empty());
}

TEST_CASE("balls in bins are refused where nothing is proven") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto refused = [&](const std::string& more) { return resolve(settings_for(folder, "x", more)); };
  CHECK_USAGE_ERROR(refused(kBins + "neighbours = 'replace-one'\n"), "neighbours", "replace-one", "sampling 'balls-in-bins'");
  CHECK_USAGE_ERROR(refused(kBins + "clip-schedule = 'linear'\n"), "clip-schedule", "sampling 'balls-in-bins'");
  CHECK_USAGE_ERROR(refused(kBins + "noise-schedule = 'dynamic'\n"), "noise-schedule", "sampling 'balls-in-bins'");
  CHECK_USAGE_ERROR(refused(kBins + "evaluate = 'private'\nevaluate-noise = 3\n"), "evaluate", "sampling");
  CHECK_USAGE_ERROR(refused(kCohort + "evaluate = 'private'\nevaluate-noise = 3\n"), "evaluate", "cohort");
  CHECK_USAGE_ERROR(refused(kCohort + "neighbours = 'replace-one'\npartition = 'iid'\n"), "neighbours", "cohort 'balls-in-bins'");
  CHECK_USAGE_ERROR(refused(kCohort + "secure-aggregation = 'real'\n"), "cohort", "balls-in-bins", "secure-aggregation");
}

}  // namespace fedstride::test::balls_in_bins_run_test
