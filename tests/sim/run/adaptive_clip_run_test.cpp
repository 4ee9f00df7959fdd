// Runs whose bound on clients' updates adapts: same bits on threads and after a kill, ledger and audit, what it does not go with.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "core/error.hpp"
#include "core/files.hpp"
#include "dp/ledger/audit.hpp"
#include "sim/run/ledger_terms.hpp"
#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::adaptive_clip_run_test {
namespace {

const std::string kAdaptive =
    "dp = 'client'\nclip-rule = 'adaptive'\nnoise-multiplier = 0.3\nclip = 0.01\noptimizer = 'sgd'\nlearning-rate = 0.1\n";

}  // namespace

TEST_CASE("a bound that adapts: the same bits on any threads and after a kill; it moves by what the bits allow") {
  const TemporaryFolder folder;
  write_data(folder);
  start(settings_for(folder, "a", kAdaptive));
  start(settings_for(folder, "b", kAdaptive + "threads = 1\nrounds = 2\n"));
  resume(folder / "b", {{"rounds", {std::int64_t{6}, true}}});
  CHECK(hashes(folder / "a") == hashes(folder / "b"));
  const auto rounds = lines(folder / "a/rounds.jsonl");
  REQUIRE(rounds.size() == 6);
  CHECK(rounds[0]["clip"] == 0.01);
  double before = 0.01;
  for (std::size_t i = 1; i < rounds.size(); ++i) {
    const double clip = rounds[i]["clip"];
    CHECK(clip == lines(folder / "b/rounds.jsonl")[i]["clip"]);
    CHECK(clip > before * std::exp(-0.2));  // noise of 0.3 on three bits of 1/2
    CHECK(clip < before * std::exp(0.2));
    before = clip;
  }
  CHECK(before > 0.012);  // far below the norms, so it rises
  std::string brief = kAdaptive;
  brief.erase(brief.find("clip = 0.01\n"), std::string("clip = 0.01\n").size());
  start(settings_for(folder, "long", brief + "clip = 1.0\nrounds = 1\n"));
  brief.erase(brief.find("clip-rule"), std::string("clip-rule = 'adaptive'\n").size());
  start(settings_for(folder, "brief", brief + "clip = 'adaptive'\nrounds = 1\n"));
  CHECK(hashes(folder / "brief") == hashes(folder / "long"));
  // Discrete noise, and another quantile, are other runs.
  start(settings_for(folder, "c", kAdaptive + "client-noise = 'discrete'\n"));
  start(settings_for(folder, "d", kAdaptive + "clip-quantile = 0.9\n"));
  CHECK(hashes(folder / "c")[0] != hashes(folder / "a")[0]);
  CHECK(hashes(folder / "d")[0] != hashes(folder / "a")[0]);
}

TEST_CASE("the ledger charges the noise multiplier, has each round's bound, and says that it adapted") {
  const TemporaryFolder folder;
  write_data(folder);
  const RunSummary adaptive = start(settings_for(folder, "a", kAdaptive));
  std::string fixed_settings = kAdaptive;
  fixed_settings.erase(fixed_settings.find("clip-rule"), std::string("clip-rule = 'adaptive'\n").size());
  const RunSummary fixed = start(settings_for(folder, "f", fixed_settings));
  REQUIRE(adaptive.privacy.size() == 1);
  CHECK(adaptive.privacy[0].epsilon == fixed.privacy[0].epsilon);
  const LedgerReading reading = read_ledger(folder / "a/ledger.jsonl");
  CHECK(reading.book.header().at(Level::client)->adaptive_clip);
  CHECK_FALSE(read_ledger(folder / "f/ledger.jsonl").book.header().at(Level::client)->adaptive_clip);
  const std::string ledger = read_file(folder / "a/ledger.jsonl");
  CHECK(ledger.find("\"clip\":\"adaptive\"") != ledger.npos);
  CHECK(ledger.find("the bound C on an update's norm, 0.01 in the first round") != ledger.npos);
  CHECK(audit_book(reading.book, true).failures.empty());
  const std::string summary = read_file(folder / "a/summary.json");
  CHECK(summary.find("the norm then follows the count of updates within it") != summary.npos);
}

TEST_CASE("a bound that adapts is refused where its count would not be covered, or would feed back") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto refused = [&](const std::string& more) {
    Settings settings = settings_for(folder, "x", kAdaptive);
    for (const auto& [key, setting] : parse_settings(more, "more")) settings[key] = setting;
    return resolve(settings);
  };
  CHECK_USAGE_ERROR(refused("client-noise = 'local'\n"), "clip-rule", "adaptive", "client-noise", "central");
  CHECK_USAGE_ERROR(refused("clip-per = 'layer'\n"), "clip-rule", "clip-per", "model");
  CHECK_USAGE_ERROR(refused("optimizer = 'pooled'\n"), "clip-rule", "optimizer 'pooled'");
  CHECK_USAGE_ERROR(refused("mode = 'fedbuff'\nconcurrency = 2\nbuffer = 2\ndevices = 'equal'\n"), "clip-rule", "mode");
  CHECK_USAGE_ERROR(refused("dp = 'example'\n"), "clip-rule", "dp");
  CHECK_USAGE_ERROR(start(settings_for(folder, "y", kAdaptive + "clip-count-noise = 0.1\n")), "0.1", "half the noise multiplier");
}

}  // namespace fedstride::test::adaptive_clip_run_test
