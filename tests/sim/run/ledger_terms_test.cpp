#include "sim/run/ledger_terms.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "core/files.hpp"
#include "dp/ledger/ledger.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::ledger_terms_test {

namespace {

using Lines = std::vector<std::string>;

// A run's ledger against its own settings, some of which are replaced.
LedgerComparison compared(const TemporaryFolder& folder, const std::string& run, const std::string& replaced = "") {
  Settings settings = read_settings(folder / (run + "/config.toml"));
  for (const auto& [key, setting] : parse_settings(replaced, "test")) settings[key] = setting;
  std::string key;
  if (std::filesystem::exists(folder / (run + "/secret.key"))) key = read_file(folder / (run + "/secret.key"));
  return compare_with_settings(folder / (run + "/ledger.jsonl"), key, resolve_unchecked(settings));
}

}  // namespace

TEST_CASE("the ledger of every kind of private run agrees with the run's settings") {
  const TemporaryFolder folder;
  write_data(folder);
  int number = 0;
  for (const std::string more :
       {"dp = 'example'\nnoise-multiplier = 1.2\nclip = 0.5\nsampling-rate = 0.2\n", "dp = 'example'\nepsilon = 4\nbatch = 6\n",
        "dp = 'example'\nnoise-multiplier = 2\nbatch = 6\nclip-schedule = 'linear'\n",
        "dp = 'example'\nnoise-multiplier = 2\nbatch = 6\nsampling = 'shuffle'\naccountant = 'rdp'\n",
        "dp = 'example'\nnoise-multiplier = 2\nbatch = 1000\n",  // lots of all rows
        "dp = 'client'\nnoise-multiplier = 1.5\nclip = 0.2\ncohort = 'poisson'\ncohort-rate = 0.4\n",
        "dp = 'client'\nnoise-multiplier = 1.5\nclient-noise = 'local'\ncohort = 'poisson'\n",
        "dp = 'client'\nepsilon = 9\ndelta = 0.001\nclient-noise = 'discrete'\nneighbours = 'replace-one'\npartition = 'iid'\n",
        "dp = 'both'\nnoise-multiplier = 2\nclient-noise-multiplier = 3\ncohort = 'fixed'\ncohort-size = 2\n",
        "dp = 'example'\nclients = 1\npartition = 'iid'\nnoise-multiplier = 2\nprivate-components = 2\ncomponents-noise = 4\n"}) {
    CAPTURE(more);
    const std::string run = std::to_string(number++);
    start(settings_for(folder, run, "rounds = 2\noptimizer = 'sgd'\nrandomness = 'secret'\n" + more));
    const LedgerComparison found = compared(folder, run);
    CHECK(found.contradictions == Lines{});
  }
  CHECK(compared(folder, "0").not_compared == Lines{});
  const Lines not_compared = compared(folder, "1").not_compared;
  REQUIRE(not_compared.size() == 2);
  CHECK(names(not_compared[0], {"sampling-rate"}));
  CHECK(names(not_compared[1], {"noise-multiplier"}));
  CHECK(names(compared(folder, "2").not_compared.back(), {"clip", "noise", "schedule"}));
}

TEST_CASE("settings unknown to the program that wrote a ledger are not compared at their defaults") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", "rounds = 1\noptimizer = 'sgd'\ndp = 'example'\nnoise-multiplier = 2\nbatch = 6\n"));
  LedgerHeader header = read_ledger(folder / "a/ledger.jsonl").book.header();
  REQUIRE(header.settings.erase("local-steps") == 1);
  std::filesystem::remove(folder / "a/ledger.jsonl");
  Ledger::create(folder / "a/ledger.jsonl", header);
  const LedgerComparison found = compared(folder, "a");
  CHECK(found.contradictions == Lines{});
  CHECK(std::ranges::any_of(found.not_compared, [](const std::string& line) { return names(line, {"local-steps", "default"}); }));
  CHECK(names(compared(folder, "a", "local-steps = 3\n").contradictions.front(), {"local-steps", "3", "not set"}));
}

TEST_CASE("each setting changed since the run is named with both values") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a",
                     "rounds = 1\noptimizer = 'sgd'\ndp = 'both'\nnoise-multiplier = 2\nclip = 0.5\nsampling-rate = 0.2\n"
                     "client-noise-multiplier = 3\nclient-clip = 0.3\ncohort = 'poisson'\ncohort-rate = 0.5\n"));
  const auto first = [&](const std::string& replaced) {
    const LedgerComparison found = compared(folder, "a", replaced);
    return found.contradictions.empty() ? "" : found.contradictions.front();
  };
  CHECK(compared(folder, "a").contradictions == Lines{});
  CHECK(names(first("clip = 0.25\n"), {"round 1", "clip", "0.25", "config.toml", "0.5", "ledger"}));
  CHECK(names(first("noise-multiplier = 4\n"), {"round 1", "noise-multiplier", "4", "config.toml", "2", "ledger"}));
  CHECK(names(first("sampling-rate = 0.1\n"), {"round 1", "sampling-rate", "0.1", "config.toml", "0.2", "ledger"}));
  CHECK(names(first("client-clip = 0.1\n"), {"client-clip", "0.1", "config.toml", "0.3", "ledger"}));
  CHECK(names(first("client-noise-multiplier = 9\n"), {"round 1", "client-noise-multiplier", "9", "config.toml", "3", "ledger"}));
  CHECK(names(first("cohort-rate = 0.1\n"), {"round 1", "cohort", "0.1", "config.toml", "0.5", "ledger"}));
  CHECK(names(first("client-noise = 'discrete'\n"), {"client-noise", "discrete", "config.toml", "central", "ledger"}));
  CHECK(names(first("delta = 1e-7\n"), {"delta", "1e-07", "config.toml", "1e-05", "ledger"}));
  CHECK(names(first("epsilon = 3\n"), {"epsilon", "3", "config.toml", "none", "ledger"}));
  CHECK(names(first("client-epsilon = 3\n"), {"client-epsilon", "3", "config.toml", "none", "ledger"}));
  CHECK(names(first("neighbours = 'replace-one'\n"), {"neighbours", "replace-one", "config.toml", "zero-out", "ledger"}));
  CHECK(names(first("accountant = 'rdp'\n"), {"accountant", "rdp", "config.toml", "tight", "ledger"}));
  CHECK(names(first("clients = 4\n"), {"clients", "4", "config.toml", "3", "ledger"}));
  CHECK(names(first("randomness = 'secret'\n"), {"randomness", "secret", "config.toml", "seeded", "ledger"}));
}

}  // namespace fedstride::test::ledger_terms_test
