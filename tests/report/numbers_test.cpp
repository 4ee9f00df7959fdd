#include <doctest/doctest.h>

#include <map>
#include <set>

#include "core/text.hpp"
#include "report/draw.hpp"
#include "report/figures.hpp"
#include "tests/report/made_results.hpp"
#include "tests/report/read_svg.hpp"

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
      const auto all = shown_numbers(draw({&plot, 1}, "f", "a figure").svg);
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
  const auto all = shown_numbers(draw({&plot, 1}, "f", "a figure").svg);
  CHECK(all.size() == 3 * 4);
  check_places(plot, all);
  for (const auto& shown : all) {
    const double share = shown.title.find("by tight") != std::string::npos ? 0.27
                         : shown.title.find("by rdp") != std::string::npos ? 0.3
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
  const std::string svg = draw({figures.front().plots.data(), 1}, "f", "a map").svg;
  const auto all = shown_numbers(svg);
  REQUIRE(all.size() == 2 * 10);
  check_places(figures.front().plots.front(), all);
  for (const auto& shown : all) {
    const int client = std::stoi(shown.x), label = std::stoi(shown.y);
    CHECK(shown.title.find("client " + shown.x) != std::string::npos);
    CHECK(shown.title.find("rows of class " + shown.y + ": " + (label / 2 == client ? "5000" : "0")) != std::string::npos);
  }
}

TEST_CASE("times are means over a configuration's runs") {
  SweepResults results = made_results(small());
  results.experiment.figures = {{.kind = "time"}};
  const auto figures = figures_of(results);
  REQUIRE(figures.front().plots.size() == 2);
  const auto all = shown_numbers(draw({figures.front().plots.data(), 1}, "f", "bars").svg);
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
      for (const auto& shown : shown_numbers(draw({&plot, 1}, "f", "a figure").svg)) places[shown.x].push_back(shown.px);
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
  const std::string script = gnuplot_script({&plot, 1}, "", false);
  std::set<std::string> rounds;
  std::size_t intervals = 0;
  for (std::size_t at = 0; (at = script.find("$interval", at)) != std::string::npos;) {
    const auto begin = script.find('\n', at) + 1, end = script.find("EOD\n", begin);
    if (script.substr(at, begin - at).find("<< EOD") == std::string::npos) break;  // the data are over
    for (auto line = begin; line < end; line = script.find('\n', line) + 1, ++intervals)
      rounds.insert(script.substr(line, script.find(' ', line) - line));
    at = end;
  }
  CHECK(intervals > 4 * 3);
  CHECK(rounds.size() == intervals);
  for (const auto& round : rounds) CHECK(round.find('.') == std::string::npos);
}

TEST_CASE("an interval is drawn no further than a share goes, and its numbers are not touched") {
  SweepResults results = made_results(small());
  for (auto& row : results.summary)
    if (row.metric == "test_accuracy") row.low = -3, row.high = 4;
  results.experiment.figures = {{.kind = "accuracy-by-key", .x = "random-fraction"}};
  const Plot plot = figures_of(results).front().plots.front();
  for (const auto& shown : shown_numbers(draw({&plot, 1}, "f", "a figure").svg)) {
    CHECK(shown.low == "-3");
    CHECK(shown.high == "4");
  }
  CHECK(plot.from >= -0.02);
  CHECK(plot.to <= 1.02);
  CHECK(figures_of(results).front().caption.find("Intervals that reach an edge go on beyond it") != std::string::npos);
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
