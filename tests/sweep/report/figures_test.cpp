#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/chart.hpp"
#include "core/error.hpp"
#include "sweep/report/figures.hpp"
#include "sweep/report/looks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/sweep/report/made_results.hpp"
#include "tests/sweep/report/read_svg.hpp"

namespace fedstride::test::figures_test {
namespace {

std::vector<std::string> kinds_of(const SweepResults& results) {
  std::vector<std::string> kinds;
  for (const auto& figure : figures_of(results)) kinds.push_back(figure.kind);
  return kinds;
}

using Names = std::vector<std::string>;

Names names_of(const Plot& plot) {
  Names names;
  for (const auto& line : plot.lines) names.push_back(line.name);
  return names;
}

Figure drawn(SweepResults results, const FigureRequest& request) {
  results.experiment.figures = {request};
  return figures_of(results).front();
}

}  // namespace

TEST_CASE("every kind that an experiment file may ask for is drawn, and no other") {
  std::set<std::string_view> known, drawn_kinds;
  for (const auto kind : kFigureKinds) known.insert(kind);
  for (const auto& kind : figure_kinds()) drawn_kinds.insert(kind.name);
  CHECK(known == drawn_kinds);
  SweepResults results = made_results({.rounds = 2});
  results.experiment.figures = {{.kind = "accuracy"}};
  CHECK_THROWS_AS(figures_of(results), Error);
}

TEST_CASE("without a request there is a figure of everything that varies") {
  CHECK(kinds_of(made_results({.rounds = 3})) == Names{"accuracy-by-round", "loss-by-round", "accuracy-by-key",
                                                       "accuracy-by-rate", "step-sizes", "rejected-share", "partition", "time"});
  CHECK(kinds_of(made_results({.fractions = {0}, .rates = {0.01}, .rounds = 1, .clients = 1})) == Names{"time"});
  const auto kinds = kinds_of(made_results({.rounds = 3, .is_private = true}));
  CHECK(std::ranges::count(kinds, "epsilon-by-round") == 1);
  CHECK(std::ranges::count(kinds, "accuracy-by-epsilon") == 1);
}

TEST_CASE("where results have R2 the same figures show it, by its name and without the bounds of a share") {
  SweepResults results = made_results({.rounds = 3});
  const Names kinds = kinds_of(results);
  for (auto& row : results.summary)
    if (row.metric == "test_accuracy") row.metric = "test_r2";
  CHECK(kinds_of(results) == kinds);
  for (const auto& figure : figures_of(results)) CHECK(figure.title.find("ccuracy") == std::string::npos);
  const Figure by_round = drawn(results, {.kind = "accuracy-by-round"});
  CHECK(names(by_round.title, {"Test R2"}));
  CHECK(names_of(by_round.plots.front()).size() == 2);
  CHECK(drawn(results, {.kind = "loss-by-round"}).title == drawn(made_results({.rounds = 3}), {.kind = "loss-by-round"}).title);
}

TEST_CASE("rates that were swept and not tuned have one figure, and steps all undone have theirs") {
  SweepResults results = made_results({.rounds = 3});
  results.experiment.tuning = {};
  for (auto& row : results.summary)
    if (row.metric == "rejected_share") row.mean = 1;
  const auto figures = figures_of(results);
  const auto by_rate = std::ranges::find(figures, "accuracy-by-rate", &Figure::kind);
  REQUIRE(by_rate != figures.end());
  CHECK(std::ranges::count(figures, by_rate->title, &Figure::title) == 1);  // not by key, too
  const auto kinds = kinds_of(results);
  CHECK(std::ranges::count(kinds, "accuracy-by-rate") == 1);
  CHECK(std::ranges::count(kinds, "rejected-share") == 1);
}

TEST_CASE("figures by round are drawn against virtual seconds or megabytes if asked to") {
  SweepResults results = made_results({.fractions = {0}, .rates = {0.01}, .seeds = 1, .rounds = 3});
  for (auto& cell : results.cells)
    for (auto& round : cell.rounds) {
      if (round.round != 2) round.numbers["virtual_seconds"] = 10.0 * round.round;  // unknown: not drawn
      round.numbers["megabytes"] = 3.0 * round.round;
    }
  results.summary = summarize(results.experiment, results.cells);
  const auto xs = [&](const Figure& figure) {
    std::vector<double> all;
    for (const auto& point : figure.plots.at(0).lines.at(0).points) all.push_back(point.x);
    return all;
  };
  CHECK(xs(drawn(results, {.kind = "accuracy-by-round"})) == std::vector<double>{1, 2, 3});
  CHECK(xs(drawn(results, {.kind = "accuracy-by-round", .by = Cost::time})) == std::vector<double>{10, 30});
  results.experiment.by = Cost::bytes;
  const Figure by_bytes = drawn(results, {.kind = "loss-by-round"});
  CHECK(xs(by_bytes) == std::vector<double>{3, 6, 9});
  CHECK(by_bytes.title == "Test loss by megabytes");
  CHECK(xs(drawn(results, {.kind = "accuracy-by-round", .by = Cost::rounds})) == std::vector<double>{1, 2, 3});
}

TEST_CASE("of a tuned grid the best is drawn, or the places asked for") {
  const SweepResults results = made_results({.fractions = {0}, .rounds = 3});
  CHECK(names_of(drawn(results, {.kind = "accuracy-by-round"}).plots.front()) == Names{"adadp", "sgd, learning-rate 0.01"});
  CHECK(drawn(results, {.kind = "accuracy-by-round", .ranks = {1, 2}}).plots.front().lines.size() == 3);
  CHECK(drawn(results, {.kind = "accuracy-by-rate"}).plots.front().lines.size() == 2);
}

TEST_CASE("a configuration without the key is a level beside those with it") {
  const Plot plot = drawn(made_results({.fractions = {0}, .rounds = 3}), {.kind = "accuracy-by-rate"}).plots.front();
  REQUIRE(names_of(plot) == Names{"adadp", "sgd"});
  CHECK(plot.lines[0].is_reference);
  CHECK(plot.lines[0].points.size() == 1);
  CHECK(!plot.lines[1].is_reference);
  CHECK(plot.log_x);
  std::vector<double> x;
  for (const auto& point : plot.lines[1].points) x.push_back(point.x);
  CHECK(x == std::vector<double>{0.00316, 0.01, 0.0316});
}

TEST_CASE("more lines than can be told apart make several pictures with one scale") {
  const Figure figure = drawn(made_results({.rounds = 3}), {.kind = "accuracy-by-round"});
  REQUIRE(figure.plots.size() == 4);
  for (const auto& plot : figure.plots) {
    CHECK(plot.lines.size() == 2);
    CHECK(plot.from == figure.plots.front().from);
    CHECK(plot.to == figure.plots.front().to);
  }
  CHECK(figure.plots[1].panel == "random-fraction 0.33");
}

TEST_CASE("conditions pick configurations, as numbers where they are numbers") {
  const Figure figure = drawn(made_results({.rounds = 3}), {.kind = "accuracy-by-round", .where = {{"random-fraction", "1.0"}}});
  REQUIRE(figure.plots.size() == 1);
  for (const auto& point : figure.plots.front().lines.front().points) CHECK(point.text.starts_with("random-fraction 1,"));
  CHECK(drawn(made_results({.rounds = 3}), {.kind = "accuracy-by-round", .where = {{"optimizer", "adam"}}}).plots.empty());
}

TEST_CASE("keys that were asked for name the lines, and others only where they must") {
  const SweepResults results = made_results({.fractions = {0, 1}, .rounds = 3});
  CHECK(names_of(drawn(results, {.kind = "accuracy-by-round", .lines = {"random-fraction", "optimizer"}}).plots.front()) ==
        Names{"random-fraction 0, adadp", "random-fraction 0, sgd", "random-fraction 1, adadp", "random-fraction 1, sgd"});
  CHECK(names_of(drawn(results, {.kind = "accuracy-by-round", .lines = {"optimizer"}}).plots.front()).size() == 4);
}

TEST_CASE("captions say how many seeds, which interval, and what was chosen on what") {
  const std::string caption = drawn(made_results({.rounds = 3}), {.kind = "accuracy-by-key"}).caption;
  CHECK(names(caption, {"3", "95 %", "learning-rate", "accuracy", "test", "as in the paper, which names no validation set"}));
  CHECK_FALSE(names(drawn(made_results({.seeds = 1, .rounds = 3}), {.kind = "accuracy-by-round"}).caption, {"95 %"}));
  SweepResults results = made_results({.rounds = 3, .is_private = true});
  CHECK(names(drawn(results, {.kind = "accuracy-by-epsilon"}).caption, {"delta", "1e-05", "seed"}));
  for (auto& cell : results.cells) cell.texts["randomness"] = "secret";
  CHECK_FALSE(names(drawn(results, {.kind = "accuracy-by-epsilon"}).caption, {"seed"}));
}

TEST_CASE("lines differ by color, by dash and by marker") {
  Plot plot;
  for (std::size_t i = 0; i < kMaxLines; ++i)
    plot.lines.push_back({.name = std::to_string(i),
                          .points = {{.x = 0, .y = static_cast<double>(i)}, {.x = 1, .y = 2.0 * static_cast<double>(i)}}});
  Looks().assign(plot);
  const std::string svg = chart_svg({&plot, 1}, "a figure", ChartFor::file);
  std::set<std::string> colors, dashes, markers;
  for (const auto& color : path_attributes(svg, "line", "stroke")) colors.insert(color);
  for (const auto& dash : path_attributes(svg, "line", "stroke-dasharray")) dashes.insert(dash);
  const auto shapes = path_attributes(svg, "marker", "d"), fills = path_attributes(svg, "marker", "fill");
  for (std::size_t i = 0; i < shapes.size(); ++i)
    markers.insert(shapes[i].substr(shapes[i].find('m'), shapes[i].find('z') - shapes[i].find('m')) +
                   (fills[i] == kPaper.light ? "" : " filled"));
  CHECK(colors.size() == kMaxLines);
  CHECK(dashes.size() == kMaxLines);
  CHECK(markers.size() == kMaxLines);
}

TEST_CASE("panels of a figure have one legend and one picture; each panel has its title") {
  const SweepResults results = made_results({.rounds = 3});
  Figure figure = drawn(results, {.kind = "accuracy-by-round"});
  REQUIRE(figure.plots.size() == 4);
  Looks looks;
  for (auto& plot : figure.plots) looks.assign(plot);
  const std::string svg = chart_svg(figure.plots, "a figure", ChartFor::file);
  // Two lines in each panel, and two in the legend.
  CHECK(path_attributes(svg, "line", "d").size() == 4 * 2 + 2);
  for (const char* name : {">adadp<", ">sgd, learning-rate 0.01<"}) CHECK(svg.find(name) != std::string::npos);
  CHECK(shown_numbers(svg).size() == 4 * 2 * 3);
  for (const char* title : {"random-fraction 0<", "random-fraction 0.33<", "random-fraction 0.67<", "random-fraction 1<"})
    CHECK(svg.find(title) != std::string::npos);
  // Where the rate chosen differs from panel to panel, the legend says what they share.
  REQUIRE(figure.plots[1].lines[1].name == "sgd, learning-rate 0.01");
  figure.plots[1].lines[1].name = "sgd, learning-rate 0.1";
  const std::string other = chart_svg(figure.plots, "a figure", ChartFor::file);
  CHECK(other.find(">sgd<") != std::string::npos);
  CHECK(other.find(">sgd, learning-rate") == std::string::npos);
}

TEST_CASE("numbers that a log axis cannot show are left out") {
  SweepResults results = made_results({.fractions = {0}, .rates = {0.01}, .rounds = 3});
  for (auto& row : results.summary)
    if (row.metric == "test_loss" && row.round == 2u) row.mean = 0;
  const Figure figure = drawn(results, {.kind = "loss-by-round", .log_y = true});
  for (const auto& line : figure.plots.front().lines) CHECK(line.points.size() == 2);
  CHECK(shown_numbers(chart_svg(figure.plots, "a figure", ChartFor::file)).size() == 2 * 2);
}

}  // namespace fedstride::test::figures_test
