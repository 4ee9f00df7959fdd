#include <doctest/doctest.h>

#include "core/chart.hpp"
#include "sweep/report/html.hpp"
#include "sweep/report/metrics.hpp"
#include "tests/sweep/report/read_svg.hpp"

namespace fedstride::test::text_test {

TEST_CASE("every text of a picture may be hostile") {
  const std::string hostile = "<b>&\"'`touch trap` {x}_1^2 %s % id='q' </text><script>x</script>";
  for (const auto style : {Plot::Style::curves, Plot::Style::points, Plot::Style::bars, Plot::Style::map}) {
    Plot plot{.style = style, .panel = hostile, .x_label = hostile, .y_label = hostile};
    if (style != Plot::Style::curves) plot.x_names = plot.y_names = {hostile, "% d"};
    plot.lines = {{.name = hostile,
                   .points = {{.x = 0, .y = 0.5, .low = 0.4, .high = 0.6, .text = hostile}, {.x = 1, .y = 0.7, .text = hostile}},
                   .values = {1, 2}}};
    const std::string svg = chart_svg({&plot, 1}, hostile, ChartFor::file);
    CHECK(svg.find("<script") == std::string::npos);
    CHECK(svg.find("<b>") == std::string::npos);
    const auto all = shown_numbers(svg);
    REQUIRE(all.size() == 2);
    CHECK(all[0].title == hostile);
    CHECK(svg.find(">" + escaped(hostile) + "</text>") != std::string::npos);
    CHECK(unescaped(attribute(svg, "aria-label")) == hostile);
  }
}

TEST_CASE("a picture has no ids and no references, so that several in a page do not meet") {
  Plot plot{.lines = {{.name = "a", .points = {{.x = 0, .y = 1, .text = "p"}, {.x = 1, .y = 2}}}}};
  const std::string svg = chart_svg({&plot, 1}, "a figure", ChartFor::page);
  for (const char* never : {" id=", "href=", "url("}) CHECK(svg.find(never) == std::string::npos);
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
