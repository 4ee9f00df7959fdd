#include <doctest/doctest.h>

#include <map>
#include <set>

#include "core/chart.hpp"
#include "core/text.hpp"
#include "sweep/report/figures.hpp"
#include "tests/support/refusal.hpp"
#include "tests/sweep/report/made_results.hpp"
#include "tests/sweep/report/read_svg.hpp"

namespace fedstride::test::numbers_test {
namespace {

Made small(bool is_private = false) {
  Made made;
  made.fractions = {0, 1};
  made.rounds = 4;
  made.clients = 2;
  made.seeds = 2;
  made.is_private = is_private;
  return made;
}

/// The summary's rows of a metric by what they say in digits: mean, low, high.
std::multiset<std::string> digits(const SweepResults& results, const std::string& metric) {
  std::multiset<std::string> all;
  for (const auto& row : results.summary)
    if (row.metric == metric) all.insert(number_text(row.mean) + " " + number_text(row.low) + " " + number_text(row.high));
  return all;
}

std::string digits(const Shown& shown) { return shown.y + " " + shown.low + " " + shown.high; }

/// Both axes are straight in what they show, so that a reader with a ruler finds the same numbers.
void check_places(const Plot& plot, const std::vector<Shown>& all) {
  std::vector<double> y, py;
  std::size_t at = 0;
  // Lines stand a few pixels beside each other: x is straight within each.
  for (const auto& line : plot.lines) {
    std::vector<double> x, px;
    for (std::size_t end = at + line.points.size(); at < end; ++at) {
      x.push_back(std::stod(all.at(at).x));
      y.push_back(std::stod(all.at(at).y));
      px.push_back(all.at(at).px);
      py.push_back(all.at(at).py);
    }
    CHECK(worst_misfit(x, px, plot.log_x) < 0.02);
  }
  REQUIRE(at == all.size());
  CHECK(worst_misfit(y, py, plot.log_y) < 0.02);
  // And not by being all in one place.
  if (*std::ranges::min_element(y) < *std::ranges::max_element(y))
    CHECK(*std::ranges::max_element(py) - *std::ranges::min_element(py) > 50);
}

struct Case {
  FigureRequest request;
  const char* metric;
  std::size_t numbers;  ///< in all of its pictures
};

}  // namespace

TEST_CASE("every number of a figure stands in its SVG, in words and in its place, as in the summary") {
  const SweepResults results = made_results(small(true));
  // Two shares; adadp and three rates of sgd, of which one is best; four rounds; two clients.
  const Case cases[] = {
      {{.kind = "accuracy-by-round"}, "test_accuracy", 2 * 2 * 4},
      {{.kind = "accuracy-by-round", .ranks = {1, 2}}, "test_accuracy", 2 * 3 * 4},
      {{.kind = "loss-by-round"}, "test_loss", 2 * 2 * 4},
      {{.kind = "accuracy-by-key", .x = "random-fraction"}, "test_accuracy", 2 * 2},
      {{.kind = "accuracy-by-key", .x = "optimizer"}, "test_accuracy", 2 * 2},
      {{.kind = "accuracy-by-rate"}, "test_accuracy", 2 * (3 + 1)},
      {{.kind = "step-sizes"}, "learning_rate", 2 * 2 * 4},
      {{.kind = "rejected-share"}, "rejected_share", 2 * 2 * 2 * 4},
      {{.kind = "accuracy-by-epsilon"}, "test_accuracy", 2 * 2 * 4},
      {{.kind = "lines", .x = "random-fraction", .y = "test_loss"}, "test_loss", 2 * 2},
      {{.kind = "lines", .x = "round", .y = "epsilon_spent"}, "epsilon_spent", 2 * 2 * 4},
  };
  for (const auto& [request, metric, numbers] : cases) {
    CAPTURE(request.kind);
    CAPTURE(request.x);
    SweepResults asked = results;
    asked.experiment.figures = {request};
    const auto figures = figures_of(asked);
    REQUIRE(figures.size() == 1);
    auto expected = digits(results, metric);
    std::size_t count = 0;
    for (const auto& plot : figures.front().plots) {
      const auto all = shown_numbers(chart_svg({&plot, 1}, "a figure", ChartFor::file));
      REQUIRE(!all.empty());
      check_places(plot, all);
      for (const auto& shown : all) {
        CAPTURE(shown.title);
        const auto found = expected.find(digits(shown));
        REQUIRE(found != expected.end());
        expected.erase(found);  // none twice
        CHECK(shown.title.find(": " + shown.y + "\n95 %: " + shown.low + " to " + shown.high + ", n = 2") != std::string::npos);
        ++count;
      }
    }
    CHECK(count == numbers);
  }
}

TEST_CASE("each accountant's epsilon is a line of its own, and configurations that spend the same are drawn once") {
  SweepResults results = made_results(small(true));
  results.experiment.figures = {{.kind = "epsilon-by-round"}};
  const auto figures = figures_of(results);
  REQUIRE(figures.front().plots.size() == 1);
  const Plot& plot = figures.front().plots.front();
  std::set<std::string> names;
  for (const auto& line : plot.lines) names.insert(line.name);
  CHECK(names == std::set<std::string>{"rdp", "strong", "tight"});
  const auto all = shown_numbers(chart_svg({&plot, 1}, "a figure", ChartFor::file));
  CHECK(all.size() == 3 * 4);
  check_places(plot, all);
  for (const auto& shown : all) {
    const double share = shown.title.find("tight") != std::string::npos ? 0.27
                         : shown.title.find("rdp") != std::string::npos ? 0.3
                                                                        : 0.9;
    CHECK(std::stod(shown.y) == doctest::Approx(share * std::sqrt(std::stod(shown.x))));
  }
}

TEST_CASE("a partition's squares say whose rows they are and how many") {
  SweepResults results = made_results(small());
  results.experiment.figures = {{.kind = "partition"}};
  const auto figures = figures_of(results);
  // At random-fraction 0 client k holds classes 2k and 2k + 1 alone; at 1 all hold the same.
  REQUIRE(figures.front().plots.size() == 2);
  CHECK(figures.front().plots[0].panel == "random-fraction 0");
  const std::string svg = chart_svg({figures.front().plots.data(), 1}, "a map", ChartFor::file);
  const auto all = shown_numbers(svg);
  REQUIRE(all.size() == 2 * 10);
  check_places(figures.front().plots.front(), all);
  for (const auto& shown : all) {
    const int client = std::stoi(shown.x), label = std::stoi(shown.y);
    CAPTURE(shown.title);
    CHECK(shown.title.find("client " + shown.x) != std::string::npos);
    CHECK(shown.title.find("class " + shown.y) != std::string::npos);
    CHECK(shown.title.find(label / 2 == client ? "5000" : ": 0") != std::string::npos);
  }
}

TEST_CASE("classes go by their names where the data have them") {
  SweepResults results = made_results(small());
  for (auto& cell : results.cells) cell.class_names = {"airplane", "automobile", "bird"};
  results.experiment.figures = {{.kind = "partition"}};
  const Plot plot = figures_of(results).front().plots.front();
  CHECK(plot.y_names == std::vector<std::string>{"airplane", "automobile", "bird", "3", "4", "5", "6", "7", "8", "9"});
  const auto all = shown_numbers(chart_svg({&plot, 1}, "a map", ChartFor::file));
  CHECK(all.front().title.starts_with("airplane\n"));
}

TEST_CASE("an axis of six rounds has more than one number, however narrow") {
  Plot plot{.lines = {{.name = "a"}}};
  for (int i = 1; i <= 6; ++i) plot.lines.front().points.push_back({.x = 1.0 * i, .y = 0.1 * i});
  const std::vector<Plot> panels(5, plot);
  std::size_t numbers = 0;
  const std::string svg = chart_svg(panels, "a figure", ChartFor::file);
  for (std::size_t at = 0; (at = svg.find("text-anchor=\"middle\">", at)) != std::string::npos; ++at) ++numbers;
  CHECK(numbers >= 3 * 2);  // below the last panel of each column
}

TEST_CASE("times are means over a configuration's runs") {
  SweepResults results = made_results(small());
  results.experiment.figures = {{.kind = "time"}};
  const auto figures = figures_of(results);
  REQUIRE(figures.front().plots.size() == 2);
  const auto all = shown_numbers(chart_svg({figures.front().plots.data(), 1}, "bars", ChartFor::file));
  REQUIRE(all.size() == 2 * 4);
  const double first = (results.cells[0].numbers.at("seconds") + results.cells[1].numbers.at("seconds")) / 2;
  CHECK(all.front().x == number_text(first));
  CHECK(worst_misfit({0, std::stod(all[0].x), std::stod(all[1].x)}, {0, all[0].px, all[1].px}, false) >= 0);
  check_places(figures.front().plots.front(), all);
}

TEST_CASE("numbers of several lines at one x stand beside each other, a few pixels apart, and say the same as before") {
  Made made = small();
  made.rounds = 4;
  SweepResults results = made_results(made);
  for (const FigureRequest& request :
       {FigureRequest{.kind = "accuracy-by-round"}, FigureRequest{.kind = "accuracy-by-key", .x = "random-fraction"},
        FigureRequest{.kind = "accuracy-by-key", .x = "optimizer"},
        FigureRequest{.kind = "accuracy-by-round", .ranks = {1, 2, 3}}}) {
    CAPTURE(request.kind);
    results.experiment.figures = {request};
    const auto plots = figures_of(results).front().plots;
    for (const auto& plot : plots) {
      std::map<std::string, std::vector<double>> places;
      for (const auto& shown : shown_numbers(chart_svg({&plot, 1}, "a figure", ChartFor::file)))
        places[shown.x].push_back(shown.px);
      for (auto& [x, all] : places) {
        CHECK(all.size() == plot.lines.size());
        std::ranges::sort(all);
        for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i] - all[i - 1] > 3);
        CHECK(all.back() - all.front() < 60);
      }
    }
  }
}

TEST_CASE("lines of many points have their intervals at different rounds, and no point is moved") {
  Made made = small();
  made.rounds = 60;
  made.fractions = {0};
  SweepResults results = made_results(made);
  results.experiment.figures = {{.kind = "accuracy-by-round", .ranks = {1, 2, 3}}};
  const Plot plot = figures_of(results).front().plots.front();
  REQUIRE(plot.lines.size() == 4);
  const std::string svg = chart_svg({&plot, 1}, "a figure", ChartFor::file);
  const auto numbers = shown_numbers(svg);
  check_places(plot, numbers);
  std::vector<double> x, px;
  for (const auto& shown : numbers) x.push_back(std::stod(shown.x)), px.push_back(shown.px);
  CHECK(worst_misfit(x, px, false) < 0.02);  // over all lines
  std::set<double> places;
  const auto intervals = drawn_intervals(svg);
  for (const auto& interval : intervals) {
    places.insert(interval.x);
    CHECK(std::ranges::find(px, interval.x) != px.end());
  }
  CHECK(intervals.size() > 4 * 3);
  CHECK(places.size() == intervals.size());
}

TEST_CASE("each interval is drawn at its number, and its ends lie where the axis has them") {
  SweepResults results = made_results(small());
  for (auto& row : results.summary)
    if (row.metric == "test_accuracy") row.low = row.mean - 0.01, row.high = row.mean + 0.02;
  results.experiment.figures = {{.kind = "accuracy-by-key", .x = "random-fraction"}};
  const Plot plot = figures_of(results).front().plots.front();
  const std::string svg = chart_svg({&plot, 1}, "a figure", ChartFor::file);
  const auto numbers = shown_numbers(svg);
  const auto intervals = drawn_intervals(svg);
  REQUIRE(intervals.size() == numbers.size());
  std::vector<double> y, py;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CHECK(intervals[i].x == numbers[i].px);
    for (const auto& [value, place] :
         {std::pair{numbers[i].y, numbers[i].py}, {numbers[i].low, intervals[i].low}, {numbers[i].high, intervals[i].high}})
      y.push_back(std::stod(value)), py.push_back(place);
  }
  CHECK(worst_misfit(y, py, false) < 0.02);
}

TEST_CASE("round numbers stand at the axes, each where its value is") {
  for (const bool log : {false, true}) {
    Plot plot{.log_x = log, .log_y = log, .lines = {{.name = "a"}}};
    for (int i = 1; i <= 40; ++i) plot.lines.front().points.push_back({.x = 3.0 * i, .y = 0.02 * i, .text = "a point"});
    const std::string svg = chart_svg({&plot, 1}, "a figure", ChartFor::file);
    const auto numbers = shown_numbers(svg);
    for (const std::string anchor : {"middle", "end"}) {  // of x, of y
      std::vector<double> values, places;
      for (const auto& shown : numbers)
        values.push_back(std::stod(anchor == "end" ? shown.y : shown.x)), places.push_back(anchor == "end" ? shown.py : shown.px);
      const std::size_t before = values.size();
      for (std::size_t at = 0;;) {
        const std::string tag = between(svg, "<text", "</text>", at);
        if (at == std::string::npos) break;
        if (attribute(tag, "text-anchor") != anchor || tag.ends_with(">")) continue;
        values.push_back(std::stod(tag.substr(tag.find('>') + 1)));
        places.push_back(anchor == "end" ? std::stod(attribute(tag, "y")) - 4.5 : std::stod(attribute(tag, "x")));
      }
      CHECK(values.size() >= before + 4);
      CHECK(worst_misfit(values, places, log) < 0.02);
    }
  }
}

TEST_CASE("an interval is drawn no further than a share goes, and its numbers are not touched") {
  SweepResults results = made_results(small());
  for (auto& row : results.summary)
    if (row.metric == "test_accuracy") row.low = -3, row.high = 4;
  results.experiment.figures = {{.kind = "accuracy-by-key", .x = "random-fraction"}};
  const Plot plot = figures_of(results).front().plots.front();
  for (const auto& shown : shown_numbers(chart_svg({&plot, 1}, "a figure", ChartFor::file))) {
    CHECK(shown.low == "-3");
    CHECK(shown.high == "4");
  }
  CHECK(plot.from >= -0.02);
  CHECK(plot.to <= 1.02);
  const std::string cut = figures_of(results).front().caption;
  for (auto& row : results.summary)
    if (row.metric == "test_accuracy") row.low = row.mean - 0.01, row.high = row.mean + 0.01;
  CHECK(cut != figures_of(results).front().caption);  // it says so
}

TEST_CASE("of a long line at most two hundred points are drawn, the last among them") {
  Made made = small();
  made.rounds = 1001;
  made.fractions = {0};
  made.rates = {0.01};
  SweepResults results = made_results(made);
  results.experiment.figures = {{.kind = "accuracy-by-round"}};
  const Plot plot = figures_of(results).front().plots.front();
  for (const auto& line : plot.lines) {
    CHECK(line.points.size() <= 200);
    CHECK(line.points.size() >= 100);
    CHECK(line.points.back().x == 1001);
  }
}

}  // namespace fedstride::test::numbers_test
