#include "sweep/results/comparison.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/sweep/results/made_cells.hpp"

namespace fedstride::test::comparison_test {
namespace {

using Keys = std::vector<std::string>;

/// A sweep of every combination of the axes' labels, whose accuracy is made of the cell's number.
SweepResults sweep_of(const std::vector<Axis>& axes) {
  SweepResults results{.folder = {}, .experiment = made_experiment(axes)};
  std::vector<Point> points{{}};
  for (const Axis& axis : axes) {
    std::vector<Point> longer;
    for (const Point& point : points)
      for (const Axis::Value& value : axis.values) {
        longer.push_back(point);
        for (std::size_t k = 0; k < axis.keys.size(); ++k) longer.back().emplace_back(axis.keys[k], value.labels[k]);
      }
    points = std::move(longer);
  }
  double number = 0;
  for (const Point& point : points) results.cells.push_back(made_cell(point, {{"test_accuracy", number += 0.001}}));
  return results;
}

Keys methods_among(const Keys& keys, const TableRequest& request = {}) {
  std::vector<Axis> axes;
  for (const auto& key : keys) axes.push_back(made_axis(key, {"1", "2"}));
  SweepResults results = sweep_of(axes);
  results.experiment.table = request;
  return method_table(results).method_keys;
}

}  // namespace

TEST_CASE("settings of training and aggregation are methods, those of data, clients, model, privacy and attacks conditions") {
  const Keys methods{"optimizer",  "learning-rate", "momentum",    "local-objective", "mu",   "server-optimizer",
                     "server-tau", "personal",      "aggregation", "local-epochs",    "trim", "run"};
  const Keys conditions{"dataset", "partition", "random-fraction",
                        "alpha",   "clients",   "dp",
                        "epsilon", "clip",      "model",
                        "attack",  "attackers", "cohort-size",
                        "trace",   "rounds",    "validation-fraction"};
  for (const auto& key : methods) {
    CAPTURE(key);
    CHECK(methods_among({key}) == Keys{key});
  }
  for (const auto& key : conditions) {
    CAPTURE(key);
    CHECK(methods_among({key}).empty());
  }
}

TEST_CASE("[table] says otherwise; keys in neither list go to the other side if one list alone is given") {
  const Keys both{"optimizer", "clients", "batch"};
  CHECK(methods_among(both) == Keys{"optimizer", "batch"});
  CHECK(methods_among(both, {.rows = {"clients"}}) == Keys{"clients"});
  CHECK(methods_among(both, {.columns = {"batch"}}) == Keys{"optimizer", "clients"});
  CHECK(methods_among(both, {.rows = {"clients"}, .columns = {"batch"}}) == Keys{"optimizer", "clients"});
}

TEST_CASE("zipped keys are one thing, and variants are methods unless they set only conditions") {
  Axis tied{.keys = {"epsilon", "batch"},
            .values = {{.settings = {}, .labels = {"1", "10"}}, {.settings = {}, .labels = {"2", "20"}}}};
  CHECK(method_table(sweep_of({tied})).condition_keys == Keys{"epsilon", "batch"});
  Axis variants = made_axis("variant", {"a", "b"});
  CHECK(method_table(sweep_of({variants})).method_keys == Keys{"variant"});
  variants.values[0].settings = {{"clients", {std::int64_t{5}}}};
  CHECK(method_table(sweep_of({variants})).condition_keys == Keys{"variant"});
  variants.values[1].settings = {{"mu", {0.1}}};
  CHECK(method_table(sweep_of({variants})).method_keys == Keys{"variant"});
}

TEST_CASE("the best is found and tested within each condition, with one row for each method") {
  SweepResults results = sweep_of(
      {made_axis("variant", {"a", "b"}), made_axis("random-fraction", {"0", "1"}), made_axis("seed", {"1", "2", "3", "4", "5"})});
  // Everything is easier at 1; there b wins, at 0 a does.
  for (CellResult& cell : results.cells) {
    const double seed = std::stod(cell.cell.value_of("seed"));
    const bool easy = cell.cell.value_of("random-fraction") == "1", is_a = cell.cell.value_of("variant") == "a";
    cell.numbers["test_accuracy"] = (easy ? 0.9 : 0.4) + (is_a == easy ? 0 : 0.05 + 0.001 * seed);
  }
  const MethodTable table = method_table(results);
  CHECK(table.methods == std::vector<Keys>{{"a"}, {"b"}});
  CHECK(table.conditions == std::vector<Keys>{{"0"}, {"1"}});
  const Comparison comparison = compare(table, "test_accuracy");
  REQUIRE(comparison.is_compared);
  for (std::size_t condition = 0; condition < 2; ++condition) {
    CAPTURE(condition);
    const auto& column = comparison.entries[condition];
    CHECK(column[condition].is_best);
    CHECK(!column[1 - condition].is_best);
    CHECK(column[1 - condition].lead.mean == doctest::Approx(0.053));
    CHECK(column[1 - condition].p < 0.001);  // one test, so no correction
  }
  CHECK_FALSE(compare(table, "epsilon_spent").is_compared);
}

TEST_CASE("of configurations that differ in tuned keys, each method's best in each condition is kept") {
  SweepResults results = sweep_of({made_axis("optimizer", {"sgd", "adam"}), made_axis("learning-rate", {"0.1", "1"}),
                                   made_axis("clients", {"5", "9"}), made_axis("seed", {"1", "2"})});
  results.experiment.tuning = {.keys = {"learning-rate"}, .on = "test", .why = "it is a test"};
  // At 5 clients the lower rate is better, at 9 the higher.
  for (CellResult& cell : results.cells)
    cell.numbers["test_accuracy"] =
        (cell.cell.value_of("learning-rate") == "1") == (cell.cell.value_of("clients") == "9") ? 0.8 : 0.3;
  const MethodTable table = method_table(results);
  CHECK(table.method_keys == Keys{"optimizer"});
  CHECK(table.condition_keys == Keys{"clients"});
  for (const auto& column : compare(table, "test_accuracy").entries)
    for (const Compared& entry : column) CHECK(entry.statistics.mean == 0.8);
  CHECK(table.seeds[0][0].front()->cell.value_of("learning-rate") == "0.1");
  CHECK(table.seeds[1][0].front()->cell.value_of("learning-rate") == "1");
}

}  // namespace fedstride::test::comparison_test
