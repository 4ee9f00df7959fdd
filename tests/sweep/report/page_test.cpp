// Takes 10 s of processor time: pages are drawn whole, with PNG and PDF by librsvg.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sweep/report/report.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"
#include "tests/sweep/report/made_results.hpp"
#include "tests/sweep/report/read_svg.hpp"

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

std::size_t count(const std::string& page, const std::string& text) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = page.find(text, at)) != std::string::npos; ++at) ++found;
  return found;
}

/// True if a line of the page names all of these.
bool has_line(const std::string& page, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(split(page, '\n'), [&](std::string_view line) { return names(line, parts); });
}

constexpr std::string_view kNote = "<p class=\"note\">";

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

TEST_CASE("a thing has one color in all figures of a page, and the colors of the page follow the reader's") {
  const TemporaryFolder folder;
  SweepResults results = small();
  // In the second sgd alone is drawn, in the third it is a line over rates.
  results.experiment.figures = {
      {.kind = "accuracy-by-round"}, {.kind = "loss-by-round", .where = {{"optimizer", "sgd"}}}, {.kind = "accuracy-by-rate"}};
  write_report({results}, folder / "page.html");
  const std::string page = read_file(folder / "page.html");
  // The looks of markers, figure by figure.
  const auto looks = [&](const std::string& id) {
    const std::size_t end = page.find(">" + id + ".svg</a>"), begin = page.rfind("<svg", end);
    REQUIRE(end != std::string::npos);
    std::set<std::string> found;
    for (const auto& color : path_attributes(page.substr(begin, end - begin), "marker", "stroke"))
      found.insert(color.substr(4, color.size() - 5));
    return found;
  };
  CHECK(looks("figure1") == std::set<std::string>{"--l0", "--l1", "--l2", "--l3"});
  // sgd, whatever the lines are called there; adadp is a level without markers.
  CHECK(looks("figure2") == std::set<std::string>{"--l1", "--l3"});
  CHECK(looks("figure3") == std::set<std::string>{"--l1", "--l3"});
  CHECK(has(page, "@media screen and (prefers-color-scheme: dark) { :root { --ink:"));
  CHECK(has(page, "@media print {"));
  // Files for papers have colors of their own.
  CHECK(!has(read_file(folder / "page-figures/figure1.svg"), "var(--"));
}

TEST_CASE("a page of a sweep with a setting under a condition, an axis without keys, is written") {
  SweepResults results = small();
  results.experiment.axes.push_back({.keys = {}, .values = {{.settings = {}, .labels = {}}}, .when = {{"optimizer", "sgd"}}});
  CHECK(has(page_of({results}), "<h1>A made sweep</h1>"));
}

TEST_CASE("results come first and settings last, defaults and long lists folded away") {
  SweepResults results = small();
  for (auto& cell : results.cells) cell.cell.settings["rounds"] = {std::int64_t{3}};
  const std::string page = page_of({results});
  CHECK(has(page, "<title>A made sweep</title>"));
  std::size_t before = 0;
  for (const char* part : {"<h1>A made sweep</h1>", "<p class=\"winner\">", "<table class=\"results\">", "<figure>",
                           "<h2>Settings</h2>", "<dt>random-fraction</dt><dd>0, 1</dd>", "<dt>rounds</dt><dd>3</dd>", "<details>",
                           "<dt>dataset</dt><dd>synthetic</dd>", "</details>", "<pre>"}) {
    CAPTURE(part);
    const std::size_t at = page.find(part, before);
    REQUIRE(at != std::string::npos);
    before = at;
  }
  CHECK(!has(page, "<dt>threads</dt>"));
  // Nothing that is folded is printed, nor are figures of time among the others unless asked for.
  CHECK(count(page, "details:not([open]) { display: none; }") == 1);
  results.experiment.figures.clear();
  const std::string usual = page_of({results});
  CHECK(usual.find("Times on this machine") < usual.find("Time and speed on this machine"));
  results.experiment.figures = {{.kind = "time"}};
  CHECK(!has(page_of({results}), "<summary>Times on this machine</summary>\n<figure>"));
}

TEST_CASE("no color of a page is fixed but in the two lists of variables, so that dark pages have no white spots") {
  Made made{.fractions = {0, 1}, .seeds = 2, .rounds = 3, .clients = 2, .is_private = true};
  SweepResults results = made_results(made);
  results.experiment.text.clear();
  std::string page = page_of({results});
  CHECK(count(page, "<figure>") >= 8);
  for (std::size_t at = 0; (at = page.find(":root {", at)) != std::string::npos;) page.erase(at, page.find('}', at) - at);
  for (const char* attribute : {"fill=\"", "stroke=\""})
    for (std::size_t at = 0; (at = page.find(attribute, at)) != std::string::npos;) {
      at += std::string(attribute).size();
      const std::string paint = page.substr(at, page.find('"', at) - at);
      CHECK_MESSAGE((paint == "none" || paint.starts_with("var(--")), paint);
    }
  // A color as #abc, #aabbcc or rgb(...), as far as it is not a link.
  for (std::size_t at = 0; (at = page.find('#', at)) != std::string::npos; ++at) {
    const std::string before = page.substr(at - 2, 2);
    CHECK_MESSAGE((before == "=\"" || before[1] == '&'), page.substr(at - 20, 40));
  }
  for (const char* fixed : {"rgb(", "rgba(", "hsl(", ": white", ": black"}) CHECK(!has(page, fixed));
}

TEST_CASE("on a phone every figure has one column and no pointer") {
  SweepResults results = small();
  results.experiment.figures = {{.kind = "accuracy-by-round"}, {.kind = "partition"}, {.kind = "time"}};
  const std::string page = page_of({results});
  CHECK(has(page, "@media screen and (max-width: 499px)"));
  CHECK(count(page, "<svg class=\"broad\"") == 3);
  CHECK(count(page, "<svg class=\"narrow\"") == 3);
  for (std::size_t at = 0; (at = page.find("<svg class=\"narrow\"", at)) != std::string::npos; ++at) {
    const std::string svg = page.substr(at, page.find("</svg>", at) - at);
    CHECK(has(svg, "viewBox=\"0 0 380 "));
    CHECK(!has(svg, "<circle"));
    // Titles of panels stand in the middle of the one column.
    std::set<std::string> middles;
    for (std::size_t text = 0; (text = svg.find("<text", text)) != std::string::npos; ++text) {
      const std::string tag = svg.substr(text, svg.find("</text>", text) - text);
      if (attribute(tag, "text-anchor") == "middle" && has(tag, "random-fraction ")) middles.insert(attribute(tag, "x"));
    }
    CHECK(middles.size() <= 1);
  }
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
  CHECK(count >= 2);
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
  CHECK(count(page, "<tr class=\"first\">") == 2);  // of sgd at each share
  CHECK(count(page, "<tr class=\"second\">") == 2);
  for (const std::string_view begin : {kNote, std::string_view("<figcaption>")})
    CHECK(has_line(page, {begin, "learning-rate", "accuracy", "test", "as in the paper, which names no validation set"}));
  CHECK(!has_line(page, {kNote, "epsilon"}));
}

TEST_CASE("of private runs the page says whose epsilon it is and what it leaves out") {
  SweepResults results = small(true);
  CHECK(has_line(page_of({results}), {kNote, "epsilon", "seed"}));
  for (auto& cell : results.cells) cell.texts["randomness"] = "secret";
  CHECK(has_line(page_of({results}), {kNote, "epsilon", "private"}));
  CHECK(!has_line(page_of({results}), {kNote, "epsilon", "seed"}));
}

TEST_CASE("a page says what looking at all private runs of it costs: sums over runs, at each level") {
  SweepResults results = small(true);
  REQUIRE(results.cells.size() == 16);
  for (std::size_t i = 0; i < results.cells.size(); ++i) {  // 0.5 + 0.25 i, which add up to 38
    results.cells[i].numbers["epsilon_spent"] = 0.5 + 0.25 * static_cast<double>(i);
    results.cells[i].numbers["delta_spent"] = 0x1p-20;
  }
  const auto says = [&](std::initializer_list<std::string_view> parts) {  // a sentence of its own
    std::string page = page_of({results});
    for (std::size_t at = 0; (at = page.find(". ", at)) != page.npos; ++at) page[at + 1] = '\n';
    return has_line(page, parts);
  };
  CHECK(says({"16", "epsilon", "38", "1.526e-05", "example"}));
  CHECK(!says({"epsilon", "client level"}));
  // A killed run has rounds in the tables, one that failed has none; of users or clients.
  results.cells[0].status = "unfinished";
  results.cells[1] = {.cell = results.cells[1].cell, .status = "failed", .error = "none"};
  results.cells[2].texts["privacy_example"] = "every user of a client in the released model";
  results.cells[2].texts["privacy_example_level"] = "user";
  results.cells[3].numbers["client_epsilon_spent"] = 2;
  results.cells[3].numbers["client_delta_spent"] = 1e-5;
  CHECK(says({"14", "epsilon", "36.25", "1.336e-05", "example level"}));
  CHECK(says({"epsilon", "1", "9.537e-07", "user level"}));
  CHECK(says({"epsilon", "2", "1e-05", "client level"}));
  // A statement without a number proves none, nor does a delta of 1.
  results.cells[2].numbers.erase("epsilon_spent");
  results.cells[3].numbers["client_delta_spent"] = 1;
  CHECK(says({"no proven epsilon", "user level"}));
  CHECK(says({"no proven epsilon", "client level"}));
}

TEST_CASE("cells without a result are named with their error") {
  SweepResults results = small();
  results.cells[0].status = "failed";
  results.cells[0].error = "no <room> left";
  results.cells[1].status = "missing";
  const std::string page = page_of({results});
  CHECK(has_line(page, {"14", "16", "1 failed", "1 not run", "full"}));
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

TEST_CASE("a sweep without any run cell has a page too") {
  SweepResults results = small();
  for (auto& cell : results.cells) cell = {.cell = cell.cell};
  results.summary.clear();
  const std::string page = page_of({results});
  CHECK(has_line(page, {"0", "16 not run", "full"}));
  CHECK(has_line(page, {"<figcaption>", "test_accuracy"}));
  CHECK(!has(page, "<svg"));
  results.experiment.figures.clear();
  results.cells.clear();
  CHECK(has_line(page_of({results}), {"0", "full"}));
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

TEST_CASE("where PNG and PDF cannot be made, the page is not made, and the package or the reason is named in one line") {
  const TemporaryFolder folder;
  const char* before = std::getenv("PATH");
  const std::string path = before == nullptr ? "" : before;
  setenv("PATH", folder.path().c_str(), 1);
  const auto refusal = [&] {
    return error_of_kind(Error::Kind::failure, [&] { write_report({small()}, folder / "page.html"); });
  };
  const std::string missing = refusal();
  write_file(folder / "rsvg-convert", "#!/bin/sh\necho it is too dark >&2\necho to draw >&2\nexit 1\n");
  std::filesystem::permissions(folder / "rsvg-convert", std::filesystem::perms::owner_all);
  const std::string failing = refusal();
  setenv("PATH", path.c_str(), 1);
  CHECK(names(missing, {"rsvg-convert", "'librsvg2-bin'"}));
  CHECK(names(failing, {"rsvg-convert", "page-figures/figure1.png", "it is too dark to draw"}));
  CHECK(!std::filesystem::exists(folder / "page.html"));
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
