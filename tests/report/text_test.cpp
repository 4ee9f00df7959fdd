#include <doctest/doctest.h>

#include <filesystem>

#include "core/error.hpp"
#include "report/draw.hpp"
#include "report/gnuplot.hpp"
#include "report/html.hpp"
#include "report/metrics.hpp"
#include "tests/report/read_svg.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::text_test {

TEST_CASE("text in gnuplot's quotes stays text: neither commands nor escapes in it are carried out") {
  const TemporaryFolder folder;
  const std::string trap = folder / "trap";
  for (const std::string& text :
       {"`touch " + trap + "`", "'.system('touch " + trap + "').'", "'`touch " + trap + "`'", "''`touch " + trap + "`",
        std::string("\\"), std::string("%s %g 100%"), std::string("@variable ${x} $(x)"), std::string("line\none\r\x1b[31m"),
        std::string("\xff\xfe\xc0\xaf")}) {
    CAPTURE(text);
    const std::string out = run_gnuplot("set print '-'\nprint " + gnuplot_text(text) + "\n");
    CHECK(!std::filesystem::exists(trap));
    std::string expected;
    for (const char c : clean_text(text)) expected += c == '\'' ? "’" : std::string(1, c == '\n' ? ' ' : c);
    CHECK(out == expected + "\n");
  }
}

TEST_CASE("every text of a picture may be hostile") {
  const TemporaryFolder folder;
  const std::string trap = folder / "trap";
  const std::string hostile = "<b>&\"'`touch " + trap + "` {x}_1^2 %s % id='q' </text><script>x</script>";
  for (const auto style : {Plot::Style::curves, Plot::Style::points, Plot::Style::bars, Plot::Style::map}) {
    Plot plot{.style = style, .panel = hostile, .x_label = hostile, .y_label = hostile};
    if (style != Plot::Style::curves) plot.x_names = plot.y_names = {hostile, "% d"};
    plot.lines = {{.name = hostile,
                   .points = {{.x = 0, .y = 0.5, .low = 0.4, .high = 0.6, .text = hostile}, {.x = 1, .y = 0.7, .text = hostile}},
                   .values = {1, 2}}};
    const Drawing drawing = draw({&plot, 1}, "f", hostile);
    CHECK(!std::filesystem::exists(trap));
    CHECK(drawing.svg.find("<script") == std::string::npos);
    CHECK(drawing.svg.find("<b>") == std::string::npos);
    const auto all = shown_numbers(drawing.svg);
    REQUIRE(all.size() == 2);
    CHECK(all[0].title == hostile);
    // gnuplot writes > as it is, and may shorten nothing that is this short.
    CHECK(drawing.svg.find("{x}_1^2 %s % id=’q’ &lt;/text>") != std::string::npos);
    CHECK(unescaped(attribute(drawing.svg, "aria-label")) == hostile);
    CHECK(drawing.png.starts_with("\x89PNG"));
  }
}

TEST_CASE("ids of two pictures do not meet, and every one that is used is there") {
  Plot plot{.lines = {{.name = "a", .points = {{.x = 0, .y = 1}, {.x = 1, .y = 2}}}}};
  for (const std::string id : {"f1", "f2"}) {
    const std::string svg = draw({&plot, 1}, id, "a figure").svg;
    std::size_t used = 0;
    for (std::size_t at = 0; (at = svg.find("href='#", at)) != std::string::npos; ++used) {
      const std::string name = svg.substr(at + 7, svg.find('\'', at + 7) - at - 7);
      CHECK(name.starts_with(id + "-"));
      CHECK(svg.find("id='" + name + "'") != std::string::npos);
      at += 7;
    }
    CHECK(used > 0);
    for (const char* quote : {"'", "\""})
      for (std::size_t at = 0; (at = svg.find(std::string(" id=") + quote, at)) != std::string::npos; at += 5)
        CHECK(svg.substr(at + 5, 3) == id + "-");
  }
}

TEST_CASE("what gnuplot refuses is said in one line") {
  try {
    run_gnuplot("plot nonsense nonsense\n");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == Error::Kind::failure);
    CHECK(std::string(error.what()).starts_with("gnuplot cannot draw a figure: "));
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
  }
}

TEST_CASE("without gnuplot its package is named") {
  const TemporaryFolder empty;
  const char* before = std::getenv("PATH");
  const std::string path = before == nullptr ? "" : before;
  setenv("PATH", empty.path().c_str(), 1);
  std::string said;
  try {
    run_gnuplot("print 1\n");
  } catch (const Error& error) {
    said = error.what();
  }
  setenv("PATH", path.c_str(), 1);
  CHECK(said.find("'gnuplot-nox'") != std::string::npos);
}

TEST_CASE("text is cut between characters and cleaned of what is none") {
  CHECK(shortened("größer", 6) == "größer");
  CHECK(shortened("größer", 5) == "größ…");
  CHECK(shortened("größer", 4) == "grö…");
  CHECK(clean_text("a\xc3\xb6") == "a\xc3\xb6");
  CHECK(clean_text("a\xc3") == "a\xef\xbf\xbd");
  CHECK(clean_text("\xed\xa0\x80") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(clean_text(std::string("\0x", 2)) == "\xef\xbf\xbdx");
  CHECK(escaped("<a href=\"x\">'&") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
  CHECK(url_of("a b/c%<\xc3\xb6") == "a%20b/c%25%3C%C3%B6");
}

TEST_CASE("a spread is rounded to two digits and the mean to the same place") {
  const double none = std::nan("");
  CHECK(spread_for_people(0.44213, 0.003217) == "0.4421 ± 0.0032");
  CHECK(spread_for_people(1234.5, 21.3) == "1234 ± 21");
  CHECK(spread_for_people(0.44213, none) == "0.4421");
  CHECK(spread_for_people(0.5, 0) == "0.5 ± 0");
  CHECK(number_for_people(60000) == "60000");
  CHECK(number_for_people(1e-5) == "1e-05");
}

}  // namespace fedstride::test::text_test
