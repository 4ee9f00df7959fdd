#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace fedstride::test {

/// A number that a figure shows, as its SVG has it.
struct Shown {
  double px = 0, py = 0;        ///< where it is, in pixels
  std::string x, y, low, high;  ///< what its attributes say
  std::string title;            ///< the tooltip
};

inline std::string between(const std::string& text, const std::string& begin, const std::string& end, std::size_t& at) {
  const auto from = text.find(begin, at);
  if (from == std::string::npos) return at = from, "";
  const auto to = text.find(end, from + begin.size());
  at = to;
  return text.substr(from + begin.size(), to - from - begin.size());
}

inline std::string attribute(const std::string& tag, const std::string& name) {
  std::size_t at = 0;
  return between(tag, " " + name + "=\"", "\"", at);
}

inline std::string unescaped(std::string text) {
  for (const auto& [code, c] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
    for (std::size_t at = 0; (at = text.find(code, at)) != std::string::npos; ++at) text.replace(at, std::string(code).size(), c);
  return text;
}

inline std::vector<Shown> shown_numbers(const std::string& svg) {
  std::vector<Shown> all;
  for (std::size_t at = 0;;) {
    const std::string tag = between(svg, "<circle class=\"v\"", "</circle>", at);
    if (at == std::string::npos) return all;
    std::size_t begin = 0;
    all.push_back({.px = std::stod(attribute(tag, "cx")),
                   .py = std::stod(attribute(tag, "cy")),
                   .x = attribute(tag, "data-x"),
                   .y = attribute(tag, "data-y"),
                   .low = attribute(tag, "data-low"),
                   .high = attribute(tag, "data-high"),
                   .title = unescaped(between(tag, "<title>", "</title>", begin))});
  }
}

/// Paths of a class: the values of an attribute, in their order.
inline std::vector<std::string> path_attributes(const std::string& svg, const std::string& of_class, const std::string& name) {
  std::vector<std::string> values;
  for (std::size_t at = 0;;) {
    const std::string tag = between(svg, "<path", "/>", at);
    if (at == std::string::npos) return values;
    if (attribute(tag, "class") == of_class) values.push_back(attribute(tag, name));
  }
}

/// Intervals as drawn: x, and y of both ends, in pixels.
struct DrawnInterval {
  double x = 0, low = 0, high = 0;
};

inline std::vector<DrawnInterval> drawn_intervals(const std::string& svg) {
  std::vector<DrawnInterval> all;
  for (const auto& steps : path_attributes(svg, "interval", "d"))
    for (std::size_t at = 0; (at = steps.find('M', at)) != std::string::npos;) {
      std::size_t read = 0;
      DrawnInterval& interval = all.emplace_back();
      interval.x = std::stod(steps.substr(++at), &read);
      interval.low = std::stod(steps.substr(at += read), &read);
      interval.high = std::stod(steps.substr(at + read + 1));
    }
  return all;
}

/// Largest distance, in pixels, of places from the straight line of their values (of their logarithms).
inline double worst_misfit(const std::vector<double>& values, const std::vector<double>& places, bool log) {
  std::size_t first = 0, last = 0;
  const auto at = [&](std::size_t i) { return log ? std::log(values[i]) : values[i]; };
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (at(i) < at(first)) first = i;
    if (at(i) > at(last)) last = i;
  }
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = first == last || at(first) == at(last) ? 0 : (at(i) - at(first)) / (at(last) - at(first));
    worst = std::max(worst, std::fabs(places[i] - (places[first] + share * (places[last] - places[first]))));
  }
  return worst;
}

}  // namespace fedstride::test
