#include "sweep/results/summary.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/sweep/results/made_cells.hpp"

namespace fedstride::test::summary_test {

TEST_CASE("mean, deviation with n - 1, and Student's interval") {
  const std::vector<double> three{1, 2, 3};
  const SeedStatistics of_three = statistics(three);
  CHECK(of_three.n == 3);
  CHECK(of_three.mean == 2);
  CHECK(of_three.deviation == 1);
  CHECK(of_three.high - 2 == doctest::Approx(0.95 / std::sqrt(2 * 0.975 * 0.025) / std::sqrt(3.0)).epsilon(1e-12));  // t(2)
  CHECK(of_three.low == doctest::Approx(4 - of_three.high).epsilon(1e-12));

  const std::vector<double> two{0.4, 0.6};
  CHECK(statistics(two).high == doctest::Approx(0.5 + std::tan(std::acos(-1.0) * 0.475) * 0.1).epsilon(1e-12));  // Cauchy

  const std::vector<double> one{0.7};
  CHECK(statistics(one).mean == 0.7);
  CHECK(std::isnan(statistics(one).deviation));
  CHECK(std::isnan(statistics(one).low));

  const std::vector<double> many(2000, 0.25);
  CHECK(statistics(many).deviation == 0);
  CHECK(statistics(many).low == 0.25);
}

TEST_CASE("seeds are summarized by configuration, metric, round and client") {
  const Experiment experiment = made_experiment({made_axis("optimizer", {"sgd", "adadp"}), made_axis("seed", {"1", "2", "3"})});
  std::vector<CellResult> cells;
  for (const char* optimizer : {"sgd", "adadp"})
    for (int seed = 1; seed <= 3; ++seed) {
      CellResult cell = made_cell({{"optimizer", optimizer}, {"seed", std::to_string(seed)}},
                                  {{"test_accuracy", 0.1 * seed}, {"seconds", 4.0 * seed}});
      for (std::uint32_t round = 1; round <= 2; ++round) {
        cell.rounds.push_back({.round = round, .numbers = {{"train_loss", seed + 10.0 * round}}, .model_hash = {}});
        if (seed == 2) cell.rounds.back().numbers["validation_loss"] = 7;
        for (std::uint32_t client = 0; client < 2; ++client)
          if (seed != 3 || client == 1)
            cell.clients.push_back({.round = round, .client = client, .numbers = {{"loss", seed + 100.0 * round + client}}});
      }
      cell.rows_per_class = {{static_cast<std::uint64_t>(seed), 5}, {7}};
      cells.push_back(cell);
    }
  const auto rows = summarize(experiment, cells);
  const SummaryRow* final = row_of(rows, "optimizersgd", "test_accuracy");
  REQUIRE(final != nullptr);
  CHECK(final->n == 3);
  CHECK(final->mean == doctest::Approx(0.2));
  CHECK(final->rank == 0);
  CHECK(final->point == test::Point{{"optimizer", "sgd"}});
  CHECK(row_of(rows, "optimizeradadp", "train_loss", 2)->mean == doctest::Approx(22));
  CHECK(row_of(rows, "optimizeradadp", "validation_loss", 1)->n == 1);
  const SummaryRow* zero = row_of(rows, "optimizersgd", "loss", 1, 0);
  const SummaryRow* one = row_of(rows, "optimizersgd", "loss", 1, 1);
  REQUIRE(zero != nullptr);
  REQUIRE(one != nullptr);
  CHECK(zero->n == 2);
  CHECK(zero->mean == doctest::Approx(101.5));
  CHECK(one->n == 3);
  CHECK(one->mean == doctest::Approx(103));
  CHECK(row_of(rows, "optimizersgd", "loss", {}, 1)->mean == doctest::Approx(203));  // the last round's
  CHECK(row_of(rows, "optimizersgd", "rows_of_class_0", {}, 0)->mean == doctest::Approx(2));
  CHECK(row_of(rows, "optimizersgd", "rows_of_class_1", {}, 0)->deviation == 0);
  CHECK(row_of(rows, "optimizersgd", "rows_of_class_1", {}, 1) == nullptr);
  for (const SummaryRow& row : rows) CHECK(row.metric != "seconds");  // timings are no results
}

TEST_CASE("only finished cells count") {
  std::vector<CellResult> cells{made_cell({{"seed", "1"}}, {{"test_accuracy", 0.5}}),
                                made_cell({{"seed", "2"}}, {{"test_accuracy", 0.9}}),
                                made_cell({{"seed", "3"}}, {{"test_accuracy", 0.7}})};
  cells[1].status = "unfinished";
  const auto rows = summarize(made_experiment({made_axis("seed", {"1", "2", "3"})}), cells);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].n == 2);
  CHECK(rows[0].mean == doctest::Approx(0.6));
}

TEST_CASE("a tuned grid is ranked by the tuning's metric, among those that differ in tuned keys alone") {
  Experiment experiment =
      made_experiment({made_axis("share", {"0", "1"}), made_axis("rate", {"0.1", "0.2", "0.3"}), made_axis("seed", {"1", "2"})});
  experiment.tuning.keys = {"rate"};
  std::vector<CellResult> cells;
  const double accuracy[2][3] = {{0.3, 0.5, 0.4}, {0.9, 0.8, 0.9}};
  for (int share = 0; share < 2; ++share)
    for (int rate = 0; rate < 3; ++rate)
      for (int seed = 1; seed <= 2; ++seed)
        cells.push_back(made_cell(
            {{"share", std::to_string(share)}, {"rate", "0." + std::to_string(rate + 1)}, {"seed", std::to_string(seed)}},
            {{"validation_accuracy", accuracy[share][rate] + 0.01 * seed},
             {"validation_loss", accuracy[share][rate]},
             {"x", 1}}));
  const auto rank = [&](const std::string& configuration) {
    return row_of(summarize(experiment, cells), configuration, "x")->rank;
  };
  CHECK(rank("share0rate0.1") == 3);
  CHECK(rank("share0rate0.2") == 1);
  CHECK(rank("share0rate0.3") == 2);
  CHECK(rank("share1rate0.1") == 1);  // a tie goes to the first
  CHECK(rank("share1rate0.3") == 2);
  CHECK(rank("share1rate0.2") == 3);

  experiment.tuning.metric = "loss";
  CHECK(rank("share0rate0.1") == 1);
  CHECK(rank("share1rate0.2") == 1);

  // A seed whose loss is not finite: no mean over the others makes that rate the best.
  cells[0].numbers.erase("validation_loss");
  CHECK(rank("share0rate0.1") == 3);
  cells[1].numbers.erase("validation_loss");
  CHECK(rank("share0rate0.1") == 0);
  CHECK(rank("share0rate0.3") == 1);

  experiment.tuning.on = "test";  // nothing has been measured there
  CHECK(rank("share0rate0.2") == 0);
}

TEST_CASE("equal values are their mean, and deviate by nothing") {
  const std::vector<double> values(3, 0.2);  // 0.2 + 0.2 + 0.2 is not 0.6
  CHECK(statistics(values).mean == 0.2);
  CHECK(statistics(values).deviation == 0);
  CHECK(statistics(values).high == 0.2);
}

}  // namespace fedstride::test::summary_test
