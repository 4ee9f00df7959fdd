#include <doctest/doctest.h>

#include <cmath>

#include "sweep/results/results.hpp"
#include "sweep/results/summary.hpp"
#include "tests/support/refusal.hpp"
#include "tests/sweep/results/made_cells.hpp"

namespace fedstride::test::expectations_test {
namespace {

/// optimizer sgd with three rates and adadp, two seeds; sgd's rate is tuned on the test accuracy.
struct Grid {
  Experiment experiment;
  std::vector<CellResult> cells;

  Grid() {
    experiment = made_experiment(
        {made_axis("optimizer", {"adadp", "sgd"}), made_axis("rate", {"0.01", "0.1", "1.0"}), made_axis("seed", {"1", "2"})});
    experiment.tuning = {.keys = {"rate"}, .on = "test"};
    add({{"optimizer", "adadp"}}, 0.60, 5);
    add({{"optimizer", "sgd"}, {"rate", "0.01"}}, 0.50, 1);
    add({{"optimizer", "sgd"}, {"rate", "0.1"}}, 0.58, 2);
    add({{"optimizer", "sgd"}, {"rate", "1.0"}}, 0.10, 9);
  }

  void add(test::Point point, double accuracy, double loss) {
    for (int seed = 1; seed <= 2; ++seed) {
      point.emplace_back("seed", std::to_string(seed));
      cells.push_back(made_cell(point, {{"test_accuracy", accuracy + 0.01 * (2 * seed - 3)}, {"test_loss", loss}}));
      for (std::uint32_t round = 1; round <= 3; ++round)
        cells.back().rounds.push_back({.round = round, .numbers = {{"train_loss", loss * round * seed}}, .model_hash = {}});
      point.pop_back();
    }
  }

  ExpectationResult check(const Expectation& expectation) {
    experiment.expectations = {expectation};
    return fedstride::check(experiment, cells, summarize(experiment, cells)).at(0);
  }
};

ResultQuantity accuracy(std::map<std::string, std::string> where, const std::string& pick = "") {
  return {.metric = "test_accuracy", .where = std::move(where), .pick = pick};
}

Expectation claim(ResultQuantity value, const std::string& relation, double number) {
  return {.claim = "c", .value = std::move(value), .relation = relation, .number = number};
}

Expectation claim(ResultQuantity value, const std::string& relation, ResultQuantity other) {
  return {.claim = "c", .value = std::move(value), .relation = relation, .other = std::move(other)};
}

}  // namespace

TEST_CASE("above and below compare means over seeds, beyond the margin") {
  Grid grid;
  const auto result = grid.check(claim(accuracy({{"optimizer", "adadp"}}), "above", accuracy({{"optimizer", "sgd"}}, "best")));
  CHECK(result.status == "holds");
  CHECK(result.value == doctest::Approx(0.60));
  CHECK(result.other == doctest::Approx(0.58));
  CHECK(names(result.text, {"0.6", "0.58", "best", "rate 0.1"}));

  Expectation wider = claim(accuracy({{"optimizer", "adadp"}}), "above", accuracy({{"optimizer", "sgd"}}, "best"));
  wider.margin = 0.03;
  CHECK(grid.check(wider).status == "fails");
  wider.margin = 0.01;
  CHECK(grid.check(wider).status == "holds");
  CHECK(grid.check(claim(accuracy({{"optimizer", "adadp"}}), "below", 0.6)).status == "fails");
  CHECK(grid.check(claim(accuracy({{"optimizer", "adadp"}}), "below", 0.61)).status == "holds");
}

TEST_CASE("a claim may be of one client") {
  Grid grid;
  for (CellResult& cell : grid.cells)
    for (std::uint32_t client = 0; client < 2; ++client)
      cell.clients.push_back({.round = 3, .client = client, .numbers = {{"own_accuracy", 0.25 + 0.5 * client}}});
  ResultQuantity own{.metric = "own_accuracy", .where = {{"optimizer", "adadp"}}, .client = 1};
  const auto result = grid.check(claim(own, "equals", 0.75));
  CHECK(result.status == "holds");
  own.client = 0;
  CHECK(grid.check(claim(own, "equals", 0.75)).value == doctest::Approx(0.25));
  own.client = 2;
  const auto missing = grid.check(claim(own, "equals", 0.75));
  CHECK(missing.status == "not run");
  CHECK(names(missing.text, {"own_accuracy of client 2", "optimizer adadp"}));
  own.client.reset();
  CHECK(grid.check(claim(own, "equals", 0.75)).status == "not run");
}

TEST_CASE("equals holds up to and with its tolerance, as written in decimals") {
  Grid grid;
  grid.cells = {made_cell({{"seed", "1"}}, {{"epsilon", 1.265}})};
  Expectation expectation = claim({.metric = "epsilon"}, "equals", 1.26);
  expectation.within = 0.005;
  CHECK(grid.check(expectation).status == "holds");
  expectation.within = 0.0049;
  CHECK(grid.check(expectation).status == "fails");
  expectation.within = 0;
  CHECK(grid.check(expectation).status == "fails");
  expectation.number = 1.265;
  CHECK(grid.check(expectation).status == "holds");
}

TEST_CASE("every pick takes the configuration it names") {
  Grid grid;
  const std::map<std::string, std::string> sgd{{"optimizer", "sgd"}};
  const auto value = [&](ResultQuantity quantity) { return grid.check(claim(std::move(quantity), "above", 0)).value; };
  CHECK(value(accuracy(sgd, "best")) == doctest::Approx(0.58));
  CHECK(value(accuracy(sgd, "second")) == doctest::Approx(0.50));
  CHECK(value(accuracy(sgd, "worst")) == doctest::Approx(0.10));
  CHECK(value(accuracy(sgd, "mean")) == doctest::Approx(1.18 / 3));
  // best is by the tuning's metric, the number is another one; lowest and highest are by that number.
  CHECK(value({.metric = "test_loss", .where = sgd, .pick = "best"}) == 2);
  CHECK(value({.metric = "test_loss", .where = sgd, .pick = "lowest"}) == 1);
  CHECK(value({.metric = "test_loss", .where = sgd, .pick = "highest"}) == 9);
  CHECK(value({.metric = "train_loss", .where = sgd, .pick = "best", .round = 3}) == doctest::Approx(9));
}

TEST_CASE("differences and ratios, and numbers written otherwise") {
  Grid grid;
  ResultQuantity quantity = accuracy({{"optimizer", "adadp"}});
  quantity.minus = {accuracy({{"rate", "0.100"}})};
  CHECK(grid.check(claim(quantity, "above", 0)).value == doctest::Approx(0.02));
  quantity.over = {{.metric = "test_loss", .where = {{"rate", "1e-2"}}}};
  CHECK(grid.check(claim(quantity, "above", 0)).value == doctest::Approx(0.02));
  quantity.over = {{.metric = "test_loss", .where = {{"rate", "1"}}}};
  CHECK(grid.check(claim(quantity, "above", 0)).value == doctest::Approx(0.02 / 9));
  for (auto& cell : grid.cells) cell.numbers["zero"] = 0;
  quantity.over = {{.metric = "zero", .where = {{"rate", "1"}}}};
  CHECK(names(grid.check(claim(quantity, "above", 0)).text, {"zero", "0"}));
}

TEST_CASE("a pick can go by the results at other values") {
  Grid grid;
  grid.cells.clear();
  // The best rate at noise 2 is 0.1, at noise 4 it is 0.2.
  const double at_two[] = {0.9, 0.8};
  const double at_four[] = {0.5, 0.6};
  for (int rate = 0; rate < 2; ++rate) {
    grid.add({{"noise", "2"}, {"rate", rate == 0 ? "0.1" : "0.2"}}, at_two[rate], 1);
    grid.add({{"noise", "4.0"}, {"rate", rate == 0 ? "0.1" : "0.2"}}, at_four[rate], 1);
  }
  ResultQuantity quantity = accuracy({{"noise", "4"}}, "best");
  CHECK(grid.check(claim(quantity, "above", 0)).value == doctest::Approx(0.6));
  quantity.pick_where = {{"noise", "2.0"}};
  CHECK(grid.check(claim(quantity, "above", 0)).value == doctest::Approx(0.5));
  grid.cells.pop_back();  // the other seed of rate 0.2 at noise 4 is enough
  CHECK(grid.check(claim(quantity, "above", 0)).value == doctest::Approx(0.5));
  std::erase_if(grid.cells,
                [](const CellResult& cell) { return cell.cell.value_of("noise") == "2" && cell.cell.value_of("rate") == "0.1"; });
  CHECK(names(grid.check(claim(quantity, "above", 0)).text, {"noise 2.0", "rate 0.1"}));
}

TEST_CASE("what cannot be checked is not run, and says why") {
  Grid grid;
  const auto text = [&](const Expectation& expectation) {
    const auto result = grid.check(expectation);
    CHECK(result.status == "not run");
    CHECK(std::isnan(result.value));
    return result.text;
  };
  CHECK(names(text(claim(accuracy({{"optimizer", "sgd"}}), "above", 0)), {"optimizer sgd", "3"}));
  CHECK(names(text(claim(accuracy({{"optimizer", "adam"}}), "above", 0)), {"optimizer adam"}));
  CHECK(names(text(claim(accuracy({{"optimizer", "adadp"}}, "second"), "above", 0)), {"optimizer adadp", "second"}));
  CHECK(names(text(claim({.metric = "speed", .where = {{"optimizer", "adadp"}}}, "above", 0)), {"speed", "optimizer adadp"}));
  CHECK(names(text(claim({.metric = "train_loss", .where = {{"optimizer", "adadp"}}, .round = 4}, "above", 0)),
              {"train_loss", "round 4", "optimizer adadp"}));
  Expectation quick = claim(accuracy({{"optimizer", "adadp"}}), "above", 0);
  quick.scale = "quick";
  CHECK(names(text(quick), {"'quick'", "'full'"}));
  quick.scale = "both";
  CHECK(grid.check(quick).status == "holds");

  grid.cells[3].status = "failed";
  CHECK(names(text(claim(accuracy({{"optimizer", "sgd"}}, "best"), "above", 0)),
              {"1 cell", "optimizer sgd, rate 0.01, seed 2", "failed"}));
  CHECK(grid.check(claim(accuracy({{"optimizer", "adadp"}}), "above", 0)).status == "holds");
  grid.cells[3].status = "finished";

  grid.experiment.tuning.on = "validation";
  CHECK(names(text(claim(accuracy({{"optimizer", "sgd"}}, "best"), "above", 0)), {"validation_accuracy", "3"}));
}

}  // namespace fedstride::test::expectations_test
