#include "sweep/results/settings_of_cells.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace fedstride::test::settings_of_cells_test {
namespace {

SweepResults run(const std::string& name, const Settings& settings, double accuracy) {
  SweepResults results;
  results.folder = "runs/" + name;
  results.experiment.name = name;
  results.experiment.file = "runs/" + name + "/config.toml";
  results.experiment.settings = settings;
  CellResult cell;
  cell.cell = {.settings = settings, .key = name, .configuration = name};
  cell.status = "finished";
  cell.numbers["test_accuracy"] = accuracy;
  results.cells = {cell};
  return results;
}

Settings with(const std::string& optimizer, std::int64_t seed, std::int64_t clients = 5) {
  return {{"optimizer", {optimizer}}, {"seed", {seed}}, {"clients", {clients}}};
}

const SummaryRow* row(const SweepResults& results, const std::string& value) {
  const auto found = std::ranges::find_if(
      results.summary, [&](const SummaryRow& one) { return !one.point.empty() && one.point.front().second == value; });
  return found == results.summary.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("runs are joined along the settings in which they differ, and seeds are averaged") {
  const SweepResults all =
      joined_runs({run("a", with("sgd", 1), 0.4), run("b", with("sgd", 2), 0.6), run("c", with("adadp", 1), 0.9)});
  CHECK(all.cells.size() == 3);
  CHECK(all.cells[0].cell.value_of("optimizer") == "sgd");
  CHECK(all.cells[1].cell.value_of("seed") == "2");
  CHECK(all.cells[0].cell.configuration == all.cells[1].cell.configuration);
  CHECK(all.cells[0].cell.configuration != all.cells[2].cell.configuration);
  // Neither what all share nor what comes with the optimizer.
  CHECK(all.cells[0].cell.value_of("clients").empty());
  CHECK(all.cells[0].cell.value_of("tolerance").empty());
  CHECK(all.experiment.axes.size() == 2);
  const auto mean = std::ranges::find_if(all.summary, [](const SummaryRow& one) {
    return std::ranges::find(one.point, std::pair<std::string, std::string>("optimizer", "sgd")) != one.point.end();
  });
  REQUIRE(mean != all.summary.end());
  CHECK(mean->n == 2);
  CHECK(mean->mean == 0.5);
}

TEST_CASE("a difference beyond the optimizer is an axis, even if it coincides with it") {
  Settings other = with("sgd", 1, 7);
  other["learning-rate"] = {0.25};
  const SweepResults all = joined_runs({run("a", with("adadp", 1), 0.4), run("b", other, 0.5)});
  CHECK(all.cells[1].cell.value_of("clients") == "7");
  CHECK(all.cells[1].cell.value_of("learning-rate") == "0.25");
}

TEST_CASE("the same settings twice are two runs, not two seeds, and so are runs with too many differences") {
  const SweepResults twice = joined_runs({run("a", with("sgd", 1), 0.4), run("b", with("sgd", 1), 0.4)});
  CHECK(twice.cells[0].cell.value_of("run") == "a");
  REQUIRE(row(twice, "b") != nullptr);
  CHECK(row(twice, "b")->n == 1);
  Settings many = with("sgd", 1, 7);
  for (const auto& [key, value] : {std::pair{"batch", 20}, {"rounds", 3}, {"local-epochs", 2}}) many[key] = {std::int64_t{value}};
  const SweepResults far = joined_runs({run("a", with("sgd", 1), 0.4), run("a", many, 0.5)});
  CHECK(far.cells[0].cell.value_of("run") == "runs/a");
  CHECK(far.cells[1].cell.value_of("run") == "runs/a (2)");
}

TEST_CASE("fixed settings are those that all configurations share, defaults included and places left out") {
  SweepResults results = run("a", with("sgd", 1), 0.4);
  results.cells.push_back(run("b", with("sgd", 2, 9), 0.5).cells.front());
  const auto fixed = fixed_settings(results);
  const auto value = [&](const std::string& key) {
    const auto found = std::ranges::find(fixed, key, &FixedSetting::key);
    return found == fixed.end() ? "" : found->value + (found->is_default ? " (default)" : "");
  };
  CHECK(value("optimizer") == "sgd");
  CHECK(value("dataset") == "synthetic (default)");
  // SGD's own default; that of the default optimizer is 0.1.
  CHECK(value("learning-rate") == "0.01 (default)");
  for (auto& cell : results.cells) cell.cell.settings["learning-rate"] = {0.1};
  const auto tuned = fixed_settings(results);
  CHECK(!std::ranges::find(tuned, "learning-rate", &FixedSetting::key)->is_default);
  for (const char* key : {"clients", "seed", "threads", "out", "init"}) CHECK(value(key).empty());
  CHECK(is_one_run(run("a", with("sgd", 1), 0.4)));
  CHECK(!is_one_run(results));
}

}  // namespace fedstride::test::settings_of_cells_test
