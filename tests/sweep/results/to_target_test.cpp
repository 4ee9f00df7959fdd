
#include <doctest/doctest.h>

#include "sweep/results/comparison.hpp"
#include "sweep/results/results.hpp"
#include "sweep/results/summary.hpp"
#include "tests/sweep/results/made_cells.hpp"

namespace fedstride::test::to_target_test {
namespace {

// A cell whose rounds have these accuracies; 0: not evaluated. A round takes 10 virtual seconds and 3 MB.
CellResult run_of(const test::Point& point, const std::vector<double>& accuracies) {
  CellResult cell = made_cell(point, {});
  std::uint32_t round = 0;
  for (const double accuracy : accuracies) {
    ++round;
    Numbers numbers{{"virtual_seconds", 10.0 * round}, {"uplink_bytes", 1e6}, {"downlink_bytes", 2e6}};
    if (accuracy > 0) numbers["test_accuracy"] = accuracy;
    cell.rounds.push_back({.round = round, .numbers = numbers, .model_hash = {}});
  }
  add_megabytes(cell);
  add_to_target({.metric = "accuracy", .at = 0.5}, cell);
  return cell;
}

}  // namespace

TEST_CASE("a target is reached at the first of three evaluations in a row at or above it") {
  // Round 2 is above alone, 4 and 6 are two in a row; 9, 11 and 13 are three.
  const CellResult cell = run_of({}, {0.4, 0.6, 0.3, 0.5, 0, 0.5, 0, 0.49, 0.5, 0, 0.7, 0, 0.5, 0.2});
  CHECK(cell.numbers == Numbers{{"test_target_reached", 1},
                                {"test_rounds_to_target", 9},
                                {"test_seconds_to_target", 90},
                                {"test_megabytes_to_target", 27}});
  CHECK(run_of({}, {0.5, 0.5, 0.49, 0.6, 0.6}).numbers == Numbers{{"test_target_reached", 0}});
  CHECK(run_of({}, {0, 0}).numbers.empty());  // never evaluated
}

TEST_CASE("a loss must be at or below its target, and one that is not finite is not") {
  CellResult cell = made_cell({}, {});
  for (std::uint32_t round = 1; round <= 4; ++round) {
    Numbers numbers{{"validation_accuracy", 0.1}};
    if (round != 2) numbers["validation_loss"] = 1;
    cell.rounds.push_back({.round = round, .numbers = numbers, .model_hash = {}});
  }
  add_to_target({.metric = "loss", .at = 1}, cell);
  CHECK(cell.numbers == Numbers{{"validation_target_reached", 0}});
  cell.rounds[1].numbers["validation_loss"] = 0.9;
  add_to_target({.metric = "loss", .at = 1}, cell);
  CHECK(cell.numbers == Numbers{{"validation_rounds_to_target", 1}, {"validation_target_reached", 1}});
}

TEST_CASE("seeds that never reach a target make no mean: neither in tables, nor in claims, nor when tuning") {
  SweepResults results{.folder = {},
                       .experiment = made_experiment({made_axis("optimizer", {"sgd", "adadp"}), made_axis("seed", {"1", "2"})})};
  results.experiment.target = {.metric = "accuracy", .at = 0.5};
  results.experiment.by = Cost::time;
  const std::vector<double> soon{0.6, 0.6, 0.6}, late{0, 0, 0, 0.6, 0.6, 0.6}, never{0.1, 0.1, 0.1};
  results.cells = {run_of({{"optimizer", "sgd"}, {"seed", "1"}}, soon), run_of({{"optimizer", "sgd"}, {"seed", "2"}}, never),
                   run_of({{"optimizer", "adadp"}, {"seed", "1"}}, late), run_of({{"optimizer", "adadp"}, {"seed", "2"}}, late)};
  results.summary = summarize(results.experiment, results.cells);

  CHECK(compared_metrics(results).front() == "test_seconds_to_target");
  const Comparison comparison = compare(method_table(results), "test_seconds_to_target");
  CHECK_FALSE(comparison.highest);
  const std::vector<Compared>& entries = comparison.entries.at(0);
  CHECK(entries.at(0).never == 1);
  CHECK(entries.at(0).statistics.n == 0);
  CHECK(entries.at(1).statistics.mean == 40);

  const auto claim = [&](const char* optimizer) {
    results.experiment.expectations = {{.claim = "c",
                                        .value = {.metric = "test_seconds_to_target", .where = {{"optimizer", optimizer}}},
                                        .relation = "equals",
                                        .number = 40}};
    return check(results.experiment, results.cells, results.summary).at(0);
  };
  CHECK(claim("adadp").status == "holds");
  CHECK(claim("sgd").status == "not run");
  CHECK(claim("sgd").text.find("1 of 2 seeds") == 0);

  results.experiment.tuning = {.keys = {"optimizer"}, .on = "test", .metric = "seconds_to_target"};
  const auto order = ordered(results.experiment.tuning, by_configuration(results.cells));
  CHECK(order == std::vector<std::size_t>{1, 0});
}

}  // namespace fedstride::test::to_target_test
