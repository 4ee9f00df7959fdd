#include "sweep/report/looks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

namespace fedstride::test::looks_test {
namespace {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

// Machado, Oliveira & Fernandes 2009, severity 1, on linear RGB.
constexpr Matrix kSights[] = {
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}}};

Triple linear(const std::string& hex) {
  const long number = std::strtol(hex.c_str() + 1, nullptr, 16);
  Triple rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = static_cast<double>(number >> (16 - 8 * i) & 255) / 255;
    rgb[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return rgb;
}

double luminance(const Triple& rgb) { return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]; }

// CIELAB under D65.
Triple lab(const Triple& rgb, const Matrix& sight) {
  Triple seen{};
  for (std::size_t i = 0; i < 3; ++i)
    seen[i] = std::clamp(sight[i][0] * rgb[0] + sight[i][1] * rgb[1] + sight[i][2] * rgb[2], 0.0, 1.0);
  const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
  const double x = f((0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.95047), y = f(luminance(seen)),
               z = f((0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double distance(const std::string& a, const std::string& b, const Matrix& sight) {
  const Triple p = lab(linear(a), sight), q = lab(linear(b), sight);
  return std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

double contrast(const std::string& a, const std::string& b) {
  const double p = luminance(linear(a)), q = luminance(linear(b));
  return (std::max(p, q) + 0.05) / (std::min(p, q) + 0.05);
}

Plot plot_of(const std::vector<std::string>& things, bool parts = false) {
  Plot plot;
  for (const auto& thing : things) plot.lines.push_back({.name = thing, .points = {{}}, .thing = thing, .is_part = parts});
  return plot;
}

}  // namespace

TEST_CASE("colors of a kind are told apart with any sight, on white and on dark, and stand out from the page") {
  for (const bool dark : {false, true})
    for (std::size_t a = 0; a < kLooks.size(); ++a) {
      const std::string color = dark ? kLooks[a].color.dark : kLooks[a].color.light;
      CAPTURE(color);
      CHECK(contrast(color, dark ? kPaper.dark : kPaper.light) > (dark ? 3.5 : 2.2));
      for (std::size_t b = a + 1; b < kLooks.size(); ++b) {
        if ((a < kMaxLines) != (b < kMaxLines)) continue;
        const std::string other = dark ? kLooks[b].color.dark : kLooks[b].color.light;
        CAPTURE(other);
        // A just noticeable difference is about 2.3.
        for (const Matrix& sight : kSights) CHECK(distance(color, other, sight) > 10);
        CHECK(std::string(kLooks[a].dash) != kLooks[b].dash);
        CHECK((std::string(kLooks[a].marker) != kLooks[b].marker || kLooks[a].is_filled != kLooks[b].is_filled));
      }
    }
}

TEST_CASE("texts can be read on both pages") {
  for (const ChartColor& text : {kInk, kSoft}) {
    CHECK(contrast(text.light, kPaper.light) > 7);
    CHECK(contrast(text.dark, kPaper.dark) > 7);
  }
}

TEST_CASE("a thing keeps its look in every later picture, and no other thing has it while there are enough") {
  Looks looks;
  Plot first = plot_of({"adadp", "sgd", "adam"}), second = plot_of({"sgd"}), third = plot_of({"momentum", "adam", "adadp"});
  Plot clients = plot_of({"client 0", "client 1"}, true);
  for (Plot* plot : {&first, &second, &third, &clients}) looks.assign(*plot);
  CHECK(second.lines[0].look == first.lines[1].look);
  CHECK(third.lines[1].look == first.lines[2].look);
  CHECK(third.lines[2].look == first.lines[0].look);
  for (const auto& line : first.lines) {
    CHECK(third.lines[0].look != line.look);
    for (const auto& client : clients.lines) CHECK(client.look != line.look);
  }
}

TEST_CASE("a thing that says more or less than a known one is that one, unless several are meant") {
  const auto plot_with = [](const std::vector<std::vector<std::pair<std::string, std::string>>>& identities) {
    Plot plot;
    for (const auto& identity : identities) plot.lines.push_back({.points = {{}}, .identity = identity});
    return plot;
  };
  Looks looks;
  Plot panel = plot_with({{{"optimizer", "adadp"}}, {{"optimizer", "sgd"}}});
  Plot one = plot_with({{{"share", "0"}, {"optimizer", "sgd"}}});
  Plot both = plot_with({{{"share", "0"}, {"optimizer", "adadp"}}, {{"share", "1"}, {"optimizer", "adadp"}}});
  for (Plot* plot : {&panel, &one, &both}) looks.assign(*plot);
  CHECK(one.lines[0].look == panel.lines[1].look);
  for (const auto& line : both.lines) {
    CHECK(line.look != panel.lines[0].look);
    CHECK(line.look != panel.lines[1].look);
  }
}

TEST_CASE("more things than looks share some, never within a picture") {
  Looks looks;
  for (int picture = 0; picture < 20; ++picture) {
    std::vector<std::string> things;
    for (std::size_t i = 0; i < kMaxLines; ++i)
      things.push_back(std::to_string(picture * 3 + static_cast<int>(i) * (picture % 4 + 1)));
    Plot plot = plot_of(things);
    looks.assign(plot);
    std::set<std::size_t> taken;
    for (const auto& line : plot.lines) taken.insert(line.look);
    CHECK(taken.size() == kMaxLines);
  }
}

TEST_CASE("every color of a picture in a page is a variable that the page defines twice, and texts that look like one stay") {
  Plot plot{.panel = "var(--ink) #0072B2",
            .lines = {{.name = "a", .points = {{.x = 0, .y = 1, .text = "#111111"}, {.x = 1, .y = 2}}}}};
  Plot map{.style = Plot::Style::map, .x_names = {"a"}, .y_names = {"b"}, .lines = {{.points = {{}}, .values = {1}}}};
  Plot bars{.style = Plot::Style::bars, .y_names = {"b"}, .lines = {{.points = {{.x = 1}}}}};
  const std::string rules = color_rules();
  for (const Plot& drawn : {plot, map, bars}) {
    const std::string page = chart_svg({&drawn, 1}, "a figure", ChartFor::page);
    for (const char* name : {" fill=\"", " stroke=\""})
      for (std::size_t at = 0; (at = page.find(name, at)) != std::string::npos; ++at) {
        const std::size_t begin = at + std::string(name).size();
        const std::string color = page.substr(begin, page.find('"', begin) - begin);
        CAPTURE(color);
        if (color == "none") continue;
        REQUIRE(color.starts_with("var("));
        const std::string rule = " " + color.substr(4, color.size() - 5) + ": #";
        const auto first = rules.find(rule);
        REQUIRE(first != std::string::npos);
        CHECK(rules.find(rule, first + 1) != std::string::npos);
      }
    CHECK(chart_svg({&drawn, 1}, "a figure", ChartFor::file).find("=\"var(") == std::string::npos);
  }
  CHECK(chart_svg({&plot, 1}, "", ChartFor::page).find(">var(--ink) #0072B2</text>") != std::string::npos);
}

}  // namespace fedstride::test::looks_test
