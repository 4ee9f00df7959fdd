#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "report/report.hpp"
#include "tests/report/made_results.hpp"
#include "tests/report/read_svg.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::page_test {
namespace {

SweepResults small(bool is_private = false) {
  Made made;
  made.fractions = {0, 1};
  made.rounds = 3;
  made.clients = 2;
  made.seeds = 2;
  made.is_private = is_private;
  SweepResults results = made_results(made);
  results.experiment.figures = {{.kind = "accuracy-by-round"}, {.kind = "accuracy-by-rate"}};
  return results;
}

std::string page_of(const std::vector<SweepResults>& sweeps) {
  const TemporaryFolder folder;
  write_report(sweeps, folder / "page.html");
  return read_file(folder / "page.html");
}

bool has(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("a page needs no script and no network, and its pictures lie beside it") {
  const TemporaryFolder folder;
  write_report({small()}, folder / "page.html");
  const std::string page = read_file(folder / "page.html");
  for (const char* never : {"<script", "<link", "<iframe", "<img", "@import", "javascript:", "onmouse", "onclick", "<?xml"}) {
    CAPTURE(never);
    CHECK(!has(page, never));
  }
  // Addresses name the languages of the page and are not fetched.
  for (std::size_t at = 0; (at = page.find("http", at)) != std::string::npos; at += 4)
    CHECK(page.substr(at).starts_with("http://www.w3.org/"));
  for (const char* start : {"url(", "src="}) CHECK(!has(page, start));
  CHECK(has(page, "href=\"page-figures/figure1.svg\""));
  CHECK(read_file(folder / "page-figures/figure1.png").starts_with("\x89PNG"));
  CHECK(read_file(folder / "page-figures/figure2.svg").starts_with("<svg xmlns="));
  CHECK(read_file(folder / "page-figures/figure1.pdf").starts_with("%PDF-"));
}

TEST_CASE("a thing has one colour in all figures of a page, and the colours of the page follow the reader's") {
  const TemporaryFolder folder;
  SweepResults results = small();
  // In the second sgd alone is drawn, in the third it is a line over rates.
  results.experiment.figures = {
      {.kind = "accuracy-by-round"}, {.kind = "loss-by-round", .where = {{"optimizer", "sgd"}}}, {.kind = "accuracy-by-rate"}};
  write_report({results}, folder / "page.html");
  const std::string page = read_file(folder / "page.html");
  // The looks of markers, figure by figure.
  const auto looks = [&](const std::string& id) {
    std::size_t at = page.find("id=\"" + id + "-gnuplot_canvas\"");
    const std::size_t end = page.find("</svg>", at);
    REQUIRE(at != std::string::npos);
    std::set<std::string> found;
    for (at = page.find("color='var(--l", at); at < end; at = page.find("color='var(--l", at + 1))
      found.insert(page.substr(at + 11, page.find(')', at) - at - 11));
    return found;
  };
  CHECK(looks("figure1") == std::set<std::string>{"--l0", "--l1", "--l2", "--l3"});
  // sgd, whatever the lines are called there; adadp is a level without markers.
  CHECK(looks("figure2") == std::set<std::string>{"--l1", "--l3"});
  CHECK(looks("figure3") == std::set<std::string>{"--l1", "--l3"});
  CHECK(has(page, "@media screen and (prefers-color-scheme: dark) { :root { --ink:"));
  CHECK(has(page, "@media print {"));
  // No colour of a picture in the page is fixed; files for papers have colours of their own.
  std::size_t at = page.find("<svg");
  for (const char* fixed : {"rgb(", "'black'", "\"black\"", "#ffffff\""}) CHECK(page.find(fixed, at) == std::string::npos);
  CHECK(!has(read_file(folder / "page-figures/figure1.svg"), "var(--"));
}

TEST_CASE("what varies and what is fixed stand above the figures, defaults included") {
  SweepResults results = small();
  for (auto& cell : results.cells) cell.cell.settings["rounds"] = {std::int64_t{3}};
  const std::string page = page_of({results});
  CHECK(has(page, "<dt>random-fraction</dt><dd>0, 1</dd>"));
  CHECK(has(page, "<dt>rounds</dt><dd>3</dd>"));
  CHECK(has(page, "<dt>dataset</dt><dd>synthetic</dd>"));
  CHECK(!has(page, "<dt>threads</dt>"));
  CHECK(page.find("What is fixed") < page.find("<figure>"));
}

TEST_CASE("no two things of a page have the same id") {
  const std::string page = page_of({small(), small()});
  std::set<std::string> ids;
  std::size_t count = 0;
  for (const std::string quote : {"'", "\""})
    for (std::size_t at = 0;;) {
      const std::string id = between(page, " id=" + quote, quote, at);
      if (at == std::string::npos) break;
      ids.insert(id);
      ++count;
    }
  CHECK(count > 20);
  CHECK(ids.size() == count);
}

TEST_CASE("expectations stand there with what became of them, and why one fails") {
  SweepResults results = small();
  results.expectations = {
      {.expectation = {.claim = "a < b", .value = {}, .relation = "below", .reason = "unsaid"},
       .status = "holds",
       .value = 1,
       .other = 2,
       .text = "1 against 2"},
      {.expectation = {.claim = "b < a", .value = {}, .relation = "below", .reason = "they are not"},
       .status = "fails",
       .value = 2,
       .other = 1,
       .text = "2 against 1"},
      {.expectation = {.claim = "c", .value = {}, .relation = "above"}, .status = "not run", .text = "no such cell"}};
  const std::string page = page_of({results});
  CHECK(has(page, "<td>a &lt; b</td><td class=\"status\">✓ holds</td><td>1 against 2</td><td></td>"));
  CHECK(has(page, "<td>b &lt; a</td><td class=\"status\">✗ fails</td><td>2 against 1</td><td>they are not</td>"));
  CHECK(has(page, "– not run"));
}

TEST_CASE("the table has every configuration, and marks the best and the second best") {
  const std::string page = page_of({small()});
  std::size_t best = 0, second = 0;
  for (std::size_t at = 0; (at = page.find("<td>best</td>", at)) != std::string::npos; ++at) ++best;
  for (std::size_t at = 0; (at = page.find("<td>second best</td>", at)) != std::string::npos; ++at) ++second;
  CHECK(best == 2);  // of sgd at each share
  CHECK(second == 2);
  CHECK(has(page, "chosen by accuracy on the test set (as in the paper, which names no validation set)"));
  CHECK(has(page, "too good by as much as the choice had to choose from"));
  CHECK(!has(page, "if the seed were secret"));
}

TEST_CASE("of private runs the page says whose epsilon it is and what it leaves out") {
  SweepResults results = small(true);
  CHECK(has(page_of({results}), "every epsilon is that of the mechanism, if the seed were secret"));
  CHECK(has(page_of({results}), "Choosing on private data is not charged to any epsilon"));
  for (auto& cell : results.cells) cell.texts["randomness"] = "secret";
  CHECK(!has(page_of({results}), "if the seed were secret"));
}

TEST_CASE("cells without a result are named with their error") {
  SweepResults results = small();
  results.cells[0].status = "failed";
  results.cells[0].error = "no <room> left";
  results.cells[1].status = "missing";
  const std::string page = page_of({results});
  CHECK(has(page, "14 of 16 cells are finished, 1 failed, 1 not run; scale: full."));
  CHECK(has(page,
            "<td>random-fraction 0, optimizer adadp, seed 1</td><td class=\"status\">failed</td><td>no &lt;room&gt; "
            "left</td>"));
  CHECK(has(page, "fedstride run --random-fraction 1 --optimizer sgd --seed 2"));
}

TEST_CASE("a page names the commits that the cells were computed by, not that of who looked last") {
  SweepResults results = small();
  results.machine = {{"commit", "cccccccccccc"}, {"processor", "a processor"}};
  for (std::size_t i = 0; i < results.cells.size(); ++i)
    results.cells[i].texts["commit"] = i % 2 == 0 ? "aaaaaaaaaaaa" : "bbbbbbbbbbbb";
  const std::string page = page_of({results});
  CHECK(has(page, "<tr><th scope=\"row\">commit</th><td>aaaaaaaaaaaa, bbbbbbbbbbbb</td></tr>"));
  CHECK(has(page, "a processor"));
  CHECK_FALSE(has(page, "cccccccccccc"));
}

TEST_CASE("a sweep of which nothing has been run is a page too") {
  SweepResults results = small();
  for (auto& cell : results.cells) cell = {.cell = cell.cell};
  results.summary.clear();
  const std::string page = page_of({results});
  CHECK(has(page, "0 of 16 cells are finished, 16 not run"));
  CHECK(has(page, "Nothing to draw yet"));
  CHECK(!has(page, "<svg"));
  results.experiment.figures.clear();
  results.cells.clear();
  CHECK(has(page_of({results}), "0 of 0 cells are finished"));
}

TEST_CASE("no text of an experiment file gets into the page as anything but text") {
  SweepResults results = small();
  const std::string hostile = "</pre><script>alert(1)</script>\"'&`id`";
  results.experiment.title = results.experiment.source = results.experiment.claim = results.experiment.note = hostile;
  results.experiment.text = hostile;
  results.experiment.tuning.why = hostile;
  results.machine["processor"] = hostile;
  for (auto& figure : results.experiment.figures) figure.title = hostile;
  for (auto& cell : results.cells) {
    cell.cell.command = cell.error = hostile;
    for (auto& part : cell.cell.point) part.second += hostile;
  }
  for (auto& row : results.summary)
    for (auto& part : row.point) part.second += hostile;
  const std::string page = page_of({results});
  CHECK(!has(page, "<script"));
  CHECK(has(page, "<pre>&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;`id`</pre>"));
}

TEST_CASE("several sweeps share a page with a list of them") {
  SweepResults other = small();
  other.experiment.title = "Another";
  const std::string page = page_of({small(), other});
  CHECK(has(page, "<a href=\"#sweep2\">Another</a>"));
  CHECK(has(page, "<section id=\"sweep2\">\n<h2>Another</h2>"));
}

TEST_CASE("what cannot be written is said before anything is drawn") {
  const TemporaryFolder folder;
  write_file(folder / "file", "x");
  std::filesystem::create_directory(folder / "folder.html");
  for (const std::string& path : {folder / "file/page.html", folder / "folder.html"}) {
    CAPTURE(path);
    CHECK_THROWS_AS(write_report({small()}, path), Error);
  }
  CHECK(std::filesystem::is_empty(folder / "folder.html"));
}

}  // namespace fedstride::test::page_test
