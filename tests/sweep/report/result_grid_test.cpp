#include "sweep/report/result_grid.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/text.hpp"
#include "tests/support/refusal.hpp"
#include "tests/sweep/report/made_results.hpp"

namespace fedstride::test::result_grid_test {
namespace {

// adadp leads sgd by 0.1 or so at share 0 and is as far behind at 1.
SweepResults made(int seeds, const std::vector<double>& fractions = {0, 1}) {
  SweepResults results = made_results({.fractions = fractions, .rates = {0.01}, .seeds = seeds, .rounds = 3});
  for (auto& cell : results.cells) {
    const double seed = std::stod(cell.cell.value_of("seed"));
    const bool leads = (cell.cell.value_of("optimizer") == "adadp") == (cell.cell.value_of("random-fraction") == "0");
    cell.numbers["test_accuracy"] = leads ? 0.8 + 0.01 * seed : 0.7 + 0.012 * seed;
  }
  results.experiment.tuning = {};
  return results;
}

bool any_names(const std::vector<std::string>& sentences, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(sentences, [&](const std::string& sentence) { return names(sentence, parts); });
}

}  // namespace

TEST_CASE("a column has one number of decimals, two digits of its usual interval, and no exponent but for tiny numbers") {
  SweepResults results = made(5);
  for (auto& cell : results.cells) {
    cell.numbers["test_accuracy"] =
        cell.cell.value_of("optimizer") == "sgd" ? 0.5 : 0.25 + 0.01 * std::stod(cell.cell.value_of("seed"));
    cell.numbers["delta_spent"] = 1e-5;
    cell.numbers["epsilon_spent"] = 2;
  }
  const ResultGrid grid = result_grids(results).front();
  CHECK(grid.metric == "test_accuracy");
  CHECK(grid.cells[0][0].mean == "0.280");
  CHECK(grid.cells[0][0].half == "0.020");  // t = 2.776, deviation 0.0158
  CHECK(grid.cells[0][1].mean == "0.500");
  CHECK(names(grid.cells[0][0].detail, {"95 %", "5 seeds"}));
  for (auto& cell : results.cells) cell.numbers = {{"delta_spent", 1e-5 * (1 + 0.1 * std::stod(cell.cell.value_of("seed")))}};
  results.experiment.command = "privacy delta";
  CHECK(result_grids(results).front().cells[0][0].mean == "1.3e-05");
}

TEST_CASE("who won is said with intervals: over all conditions first, then in each") {
  const auto sentences = result_sentences(made(5));
  REQUIRE(sentences.size() == 3);
  CHECK(names(sentences[0], {"adadp", "sgd", "test accuracy", "1", "2"}));
  // 0.83 against 0.736; the lead falls by 0.002 a seed.
  CHECK(names(sentences[1], {"random-fraction 0", "adadp", "0.830", "95 %", "0.810 to 0.850", "5 seeds", "0.0940 above sgd",
                             "0.0901 to 0.0979", "p < 0.001"}));
  CHECK(names(sentences[2], {"random-fraction 1", "sgd"}));
  CHECK_FALSE(names(sentences[1], {"not"}));
}

TEST_CASE("few seeds are said to be too few, one to say nothing, and a tie is not called significant") {
  CHECK(any_names(result_sentences(made(3)), {"adadp", "95 %", "3 seeds", "test"}));
  CHECK_FALSE(any_names(result_sentences(made(3)), {"significant"}));
  CHECK(any_names(result_sentences(made(1)), {"adadp", "one seed"}));
  CHECK_FALSE(any_names(result_sentences(made(1)), {"95 %"}));
  SweepResults close = made(5, {0});
  double sign = 0.05;
  for (auto& cell : close.cells)
    if (cell.cell.value_of("optimizer") == "sgd") cell.numbers["test_accuracy"] = 0.82 + (sign = -sign);
  const auto sentences = result_sentences(close);
  REQUIRE(sentences.size() == 1);
  CHECK(names(sentences[0], {"adadp", "sgd", "not significant"}));
}

TEST_CASE("of one method the conditions between which it lies are named, of one configuration its number") {
  SweepResults results = made(3);
  std::erase_if(results.cells, [](const CellResult& cell) { return cell.cell.value_of("optimizer") == "sgd"; });
  const auto sentences = result_sentences(results);
  REQUIRE(sentences.size() == 1);
  CHECK(names(sentences[0], {"highest at random-fraction 0", "0.820", "lowest at random-fraction 1", "0.724"}));
  results.cells.resize(1);
  CHECK(names(result_sentences(results).front(), {"0.8100", "one seed"}));
  results.cells.front().status = "failed";
  CHECK(result_sentences(results).empty());
  CHECK(result_grids(results).empty());
}

TEST_CASE("in a terminal no name is cut, decimals stand below each other, and wide tables are folded") {
  SweepResults results = made(5);
  for (auto& cell : results.cells)
    for (auto& [key, value] : cell.cell.point)
      if (value == "sgd") value = "a rather long name";
  const std::string wide = results_text(results, 100).table;
  CHECK(wide ==
        "Test accuracy\n"
        "optimizer           random-fraction                   0                   1\n"
        "adadp                                0.830 ± 0.020 best  0.736 ± 0.024 *\n"
        "a rather long name                   0.736 ± 0.024 *     0.830 ± 0.020 best\n");
  const std::string narrow = results_text(results, 60).table;
  CHECK(std::ranges::count(narrow, '\n') == 1 + 2 * 3);
  for (const auto line : split(narrow, '\n')) CHECK(line.size() <= 62);  // ± has two bytes
  CHECK(any_names(results_text(results, 60).sentences, {"best: the best mean of its column"}));
}

}  // namespace fedstride::test::result_grid_test
