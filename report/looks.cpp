#include "report/looks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/text.hpp"

namespace fedstride {

const std::array<Look, 2 * kMaxLines> kLooks{{
    {"#0072B2", "#3B9BE0", "solid", 7},
    {"#D55E00", "#E8702A", "(14,5)", 5},
    {"#009E73", "#1FB58A", "(3,4)", 9},
    {"#CC79A7", "#DE9CC2", "(14,4,3,4)", 13},
    {"#000000", "#F2F2F2", "(7,4)", 4},
    {"#E69F00", "#F0C040", "(20,4,3,4,3,4)", 11},
    {"#56B4E9", "#9AD4F7", "(3,4,3,10)", 6},
    {"#EC13B6", "#D147AF", "solid", 6},
    {"#428A54", "#4B9B5F", "(14,5)", 8},
    {"#0F3BBD", "#99ACE6", "(3,4)", 10},
    {"#A38529", "#F2CC5A", "(14,4,3,4)", 12},
    {"#5E0833", "#C587A6", "(7,4)", 14},
    {"#2C0B8E", "#8B70DB", "(20,4,3,4,3,4)", 2},
    {"#331452", "#D9CBE6", "(3,4,3,10)", 4},
}};

const std::array<PageColour, 6> kPageColours{{{"ink", "#111111", "#e6e6e6"},
                                              {"paper", "#ffffff", "#15181c"},
                                              {"soft", "#444444", "#b4b9c0"},
                                              {"grid", "#d9d9d9", "#353a41"},
                                              {"panel", "#f4f4f4", "#1f2329"},
                                              {"bar", "#8a8f98", "#7d848e"}}};

namespace {

struct Rgb {
  int red, green, blue;
};

Rgb rgb_of(const std::string& text) {
  const long number = std::strtol(text.c_str() + 1, nullptr, 16);
  return {static_cast<int>(number >> 16), static_cast<int>(number >> 8 & 255), static_cast<int>(number & 255)};
}

// gnuplot's svg terminal pads each number to three places.
std::string padded_rgb(const std::string& hex) {
  const Rgb rgb = rgb_of(hex);
  char text[32];
  std::snprintf(text, sizeof text, "rgb(%3d, %3d, %3d)", rgb.red, rgb.green, rgb.blue);
  return text;
}

std::string variable(const std::string& name) { return "var(--" + name + ")"; }

}  // namespace

std::string shade(std::size_t step, bool dark) {
  const Rgb from = rgb_of(kPageColours[1].light), to = rgb_of("#003b5c");
  const Rgb dark_from = rgb_of(kPageColours[1].dark), dark_to = rgb_of("#9fd0f5");
  const double share = static_cast<double>(step) / (kShades - 1);
  const auto mixed = [&](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * share)); };
  char text[16];
  const Rgb &a = dark ? dark_from : from, &b = dark ? dark_to : to;
  std::snprintf(text, sizeof text, "#%02x%02x%02x", mixed(a.red, b.red) & 255, mixed(a.green, b.green) & 255,
                mixed(a.blue, b.blue) & 255);
  return text;
}

std::string colour_variables(bool dark) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) { text += " --" + name + ": " + value + ";"; };
  for (const PageColour& colour : kPageColours) add(colour.name, dark ? colour.dark : colour.light);
  for (std::size_t i = 0; i < kLooks.size(); ++i) add("l" + std::to_string(i), dark ? kLooks[i].dark : kLooks[i].light);
  for (std::size_t i = 1; i < kShades; ++i) add("s" + std::to_string(i), shade(i, dark));
  return text;
}

std::string with_variables(std::string svg) {
  std::map<std::string, std::string> names{{"black", variable("ink")}, {"#ffffff", variable("paper")}};
  for (std::size_t i = 1; i < kShades; ++i) names[padded_rgb(shade(i, false))] = variable("s" + std::to_string(i));
  for (std::size_t i = 0; i < kLooks.size(); ++i) names[padded_rgb(kLooks[i].light)] = variable("l" + std::to_string(i));
  for (const PageColour& colour : kPageColours) names[padded_rgb(colour.light)] = variable(colour.name);
  // Only values of these attributes, in tags: a text may look the same.
  std::string result;
  for (std::size_t at = 0; at < svg.size();) {
    const std::size_t open = std::min(svg.find('<', at), svg.size()), close = std::min(svg.find('>', open), svg.size());
    result.append(svg, at, open - at);
    for (std::size_t from = open; from < close;) {
      // gnuplot has blanks around some signs.
      const std::size_t equals = std::min(svg.find('=', from), close);
      const std::size_t quote = std::min(svg.find_first_not_of(' ', equals + 1), close), begin = std::min(quote + 1, close);
      const std::string_view before = trimmed(std::string_view(svg).substr(from, equals - from));
      result.append(svg, from, begin - from);
      from = begin;
      if (equals == close || quote == close) break;
      const std::size_t end = std::min(svg.find(svg[quote], begin), close);
      const std::string value = svg.substr(begin, end - begin);
      const bool is_colour = before.ends_with(" fill") || before.ends_with(" stroke") || before.ends_with(" color") ||
                             before == "fill" || before == "stroke" || before == "color";
      const auto found = is_colour ? names.find(value) : names.end();
      result += found == names.end() ? value : found->second;
      from = end;
    }
    if (close < svg.size()) result += '>';
    at = close + 1;
  }
  return result;
}

std::vector<std::size_t> Looks::alike(bool is_part, const Thing& thing) const {
  const auto within = [](const Thing& a, const Thing& b) {
    return std::ranges::all_of(a, [&](const auto& part) { return std::ranges::find(b, part) != b.end(); });
  };
  std::vector<std::size_t> looks;
  for (const auto& [known, look] : known_)
    if (known.first == is_part && (within(known.second, thing) || within(thing, known.second)) &&
        std::ranges::find(looks, look) == looks.end())
      looks.push_back(look);
  return looks;
}

void Looks::assign(Plot& plot) {
  if (plot.style == Plot::Style::bars || plot.style == Plot::Style::map) return;
  std::set<std::size_t> taken;
  const auto key_of = [](const PlotLine& line) {
    return std::pair(line.is_part, line.identity.empty() ? Thing{{"", line.name}} : line.identity);
  };
  std::vector<PlotLine*> left;
  for (auto& line : plot.lines) {
    const auto found = known_.find(key_of(line));
    if (found != known_.end() && taken.insert(found->second).second)
      line.look = found->second;
    else
      left.push_back(&line);
  }
  // A known thing that is meant by one line alone.
  std::map<std::size_t, std::vector<PlotLine*>> meant;
  for (PlotLine* line : left)
    if (const auto looks = alike(line->is_part, key_of(*line).second); looks.size() == 1 && !taken.contains(looks.front()))
      meant[looks.front()].push_back(line);
  for (const auto& [look, lines] : meant) {
    if (lines.size() > 1) continue;
    lines.front()->look = look;
    taken.insert(look);
    known_.try_emplace(key_of(*lines.front()), look);
    std::erase(left, lines.front());
  }
  for (PlotLine* line : left) {
    const std::size_t first = line->is_part ? kMaxLines : 0;
    std::size_t best = kLooks.size();
    for (std::size_t look = first; look < first + kMaxLines; ++look)
      if (!taken.contains(look) && (best == kLooks.size() || uses_[look] < uses_[best])) best = look;
    if (best == kLooks.size()) best = first;  // more lines than a picture may have
    taken.insert(best);
    line->look = best;
    if (known_.try_emplace(key_of(*line), best).second) ++uses_[best];
  }
}

}  // namespace fedstride
