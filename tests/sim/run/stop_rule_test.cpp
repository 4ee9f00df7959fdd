// Runs that end before their last round by their results.
#include "sim/run/stop_rule.hpp"

#include <doctest/doctest.h>

#include "tests/sim/run/csv_runs.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::stop_rule_test {
namespace {

Settings learning(const TemporaryFolder& folder, const std::string& out, const std::string& more) {
  Settings settings = settings_for(folder, out, "optimizer = 'sgd'\nlearning-rate = 0.1\nrounds = 40\n");
  for (const auto& [key, setting] : parse_settings(more, "test")) settings[key] = setting;
  return settings;
}

Json summary_in(const std::string& run) { return Json::parse(read_file(run + "/summary.json")); }

}  // namespace

TEST_CASE("a level is read, written and refused by name") {
  for (const std::string text : {"test accuracy >= 0.6", "validation loss <= 0.25", "test r2 >= -1"})
    CHECK(StopAt::read(text).text() == text);
  CHECK(StopAt::read("  test   accuracy  >=  0.6 ").text() == "test accuracy >= 0.6");
  CHECK_FALSE(StopAt::read("").is_set());
  for (const std::string bad : {"accuracy >= 0.6", "test accuracy > 0.6", "test accuracy >= x", "test accuracy >= nan",
                                "train loss <= 1", "test accuracy >= 0.6 now", "test f1 >= 0.6"})
    CHECK_USAGE_ERROR(StopAt::read(bad), "stop-at", "'" + bad + "'");
}

TEST_CASE("a run ends in the first round at its level, like the shorter run, and goes on without it") {
  const TemporaryFolder folder;
  write_data(folder);
  start(learning(folder, "whole", ""));
  const auto all = lines(folder / "whole/rounds.jsonl");
  std::size_t first = 0;
  while (all[first]["test_accuracy"].get<double>() < 0.8) ++first;
  REQUIRE(first + 1 < all.size());
  const RunSummary ended = start(learning(folder, "ended", "stop-at = 'test accuracy >= 0.8'\n"));
  CHECK(ended.rounds == first + 1);
  CHECK(names(ended.halted, {"stop-at", "0.8", std::to_string(first + 1)}));
  CHECK_FALSE(ended.interrupted);
  const Json summary = summary_in(folder / "ended");
  CHECK(summary["finished"] == true);
  CHECK(summary["halted"] == ended.halted);
  CHECK(summary["notes"].dump().find("the test rows decide") != std::string::npos);
  CHECK(summary["model_hash"] == all[first]["model_hash"]);
  // It has ended, until it is told otherwise; then it has the bits of the whole run.
  CHECK(resume(folder / "ended", {}).rounds == first + 1);
  CHECK(resume(folder / "ended", {{"stop-at", {std::string()}}}).rounds == 40);
  CHECK(hashes(folder / "ended") == hashes(folder / "whole"));
}

TEST_CASE("patience counts rounds since the least loss on validation rows, across an interruption") {
  const TemporaryFolder folder;
  write_data(folder);
  const std::string wild = "validation-fraction = 0.2\nlearning-rate = 3\npatience = 4\nrounds = 200\n";
  const RunSummary whole = start(learning(folder, "whole", wild));
  REQUIRE_FALSE(whole.halted.empty());
  CHECK(names(whole.halted, {"validation loss", "patience 4"}));
  const auto all = lines(folder / "whole/rounds.jsonl");
  std::size_t least = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i]["validation_loss"] < all[least]["validation_loss"]) least = i;
  CHECK(all.size() == least + 5);
  CHECK(summary_in(folder / "whole")["notes"].dump().find("the test rows decide") == std::string::npos);
  RunObserver observer;
  observer.pause_after = static_cast<std::uint32_t>(least + 3);
  start(learning(folder, "parts", wild), observer);
  const RunSummary parts = resume(folder / "parts", {});
  CHECK(parts.halted == whole.halted);
  CHECK(hashes(folder / "parts") == hashes(folder / "whole"));
}

TEST_CASE("what may not decide, or is not there, is refused") {
  const TemporaryFolder folder;
  write_data(folder);
  const auto refused = [&](const std::string& more) { prepare(resolve(learning(folder, "x", more))); };
  CHECK_USAGE_ERROR(refused("stop-at = 'validation accuracy >= 0.6'\n"), "stop-at", "--validation-fraction");
  const std::string dp = "dp = 'example'\nnoise-multiplier = 1\nclip = 1\n";
  CHECK_USAGE_ERROR(refused(dp + "public-test = false\nstop-at = 'test accuracy >= 0.6'\n"), "stop-at", "dp", "--public-test");
  CHECK_USAGE_ERROR(refused(dp + "validation-fraction = 0.2\npatience = 3\n"), "patience", "dp");
  CHECK_USAGE_ERROR(refused(dp + "validation-fraction = 0.2\nstop-at = 'validation loss <= 1'\n"), "stop-at", "dp");
  const RunSummary covered = start(learning(folder, "covered", dp + "stop-at = 'test loss <= 100'\n"));
  CHECK(covered.rounds == 1);
}

}  // namespace fedstride::test::stop_rule_test
