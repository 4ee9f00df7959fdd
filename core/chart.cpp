#include "core/chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "core/text.hpp"

namespace fedstride {

namespace {

constexpr const char* kCircle = "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z";
constexpr const char* kSquare = "m-3.2 -3.2h6.4v6.4h-6.4z";
constexpr const char* kDiamond = "m0 -4.6l4.2 4.6l-4.2 4.6l-4.2 -4.6z";
constexpr const char* kTriangle = "m0 -4.3l4.2 7.2h-8.4z";
constexpr const char* kTriangleDown = "m0 4.3l4.2 -7.2h-8.4z";
constexpr const char* kPentagon = "m0 -4l3.8 2.8l-1.5 4.4h-4.6l-1.5 -4.4z";
constexpr const char* kCross = "m-3.2 -3.2l6.4 6.4m0 -6.4l-6.4 6.4";

}  // namespace

const std::array<Look, 2 * kMaxLines> kLooks{{
    {{"l0", "#0072B2", "#3B9BE0"}, "none", kCircle, true},
    {{"l1", "#D55E00", "#E8702A"}, "8 4", kSquare, true},
    {{"l2", "#009E73", "#1FB58A"}, "2 2.5", kTriangle, true},
    {{"l3", "#CC79A7", "#DE9CC2"}, "9 3 2 3", kDiamond, true},
    {{"l4", "#000000", "#F2F2F2"}, "4.5 2.5", kSquare, false},
    {{"l5", "#E69F00", "#F0C040"}, "12 3 2 3 2 3", kTriangleDown, true},
    {{"l6", "#56B4E9", "#9AD4F7"}, "2 3 2 7", kCircle, false},
    {{"l7", "#EC13B6", "#D147AF"}, "none", kCircle, false},
    {{"l8", "#428A54", "#4B9B5F"}, "8 4", kTriangle, false},
    {{"l9", "#0F3BBD", "#99ACE6"}, "2 2.5", kTriangleDown, false},
    {{"l10", "#A38529", "#F2CC5A"}, "9 3 2 3", kDiamond, false},
    {{"l11", "#5E0833", "#C587A6"}, "4.5 2.5", kPentagon, false},
    {{"l12", "#2C0B8E", "#8B70DB"}, "12 3 2 3 2 3", kCross, false},
    {{"l13", "#331452", "#D9CBE6"}, "2 3 2 7", kSquare, false},
}};

namespace {

constexpr double kLetter = 7.2;              // pixels, typical width of a letter at the font size used
constexpr double kSwatch = 36;               // pixels, length of a legend entry's line
constexpr double kGap = 20;                  // pixels between panels
constexpr double kRight = 20;                // pixels to the right of each panel
constexpr double kMaxShift = 7;              // pixels, largest offset between points that would overlap
constexpr std::size_t kMaxNameLetters = 56;  // on an axis or in the legend

/// The range of numbers on an axis, and the pixel positions of its ends.
struct Scale {
  bool log = false;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double from = 0, to = 0;

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void widen(double share) {
    if (low > high) low = log ? 0.1 : 0, high = 1;
    const double factor = low == high ? 2 : std::pow(high / low, share);
    const double more = low == high ? std::max(std::fabs(low) * 0.1, 1e-9) : (high - low) * share;
    low = log ? low / factor : low - more;
    high = log ? high * factor : high + more;
  }
  double pixels() const { return std::fabs(to - from); }
  double at(double value) const {
    return from + (to - from) * (log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low));
  }
};

bool is_table(const Plot& plot) { return plot.style == Plot::Style::bars || plot.style == Plot::Style::map; }

bool has_interval(const Plot& plot, const PlotPoint& point) {
  return plot.shows_intervals && std::isfinite(point.low) && std::isfinite(point.high) && point.low < point.high;
}

void for_each_point(std::span<const Plot> plots, auto visit) {
  for (const auto& plot : plots)
    for (const auto& line : plot.lines)
      for (const auto& point : line.points) visit(point);
}

Scale y_scale(const Plot& plot) {
  if (is_table(plot)) return {.low = -0.6, .high = static_cast<double>(plot.y_names.size()) - 0.4};
  if (std::isfinite(plot.from)) return {.log = plot.log_y, .low = plot.from, .high = plot.to};
  Scale numbers{.log = plot.log_y}, scale = numbers;
  for_each_point({&plot, 1}, [&](const PlotPoint& point) {
    numbers.add(point.y);
    scale.add(point.y);
    if (!has_interval(plot, point)) return;
    scale.add(std::max(point.low, plot.log_y ? point.y / 10 : plot.least));
    scale.add(std::min(point.high, plot.most));
  });
  // Intervals from two seeds can be many times longer than the range of the lines, so they extend the scale by at most that range
  // on each side.
  if (Scale limit = numbers; numbers.low < numbers.high) {
    limit.widen(1);
    scale.low = std::max(scale.low, limit.low);
    scale.high = std::min(scale.high, limit.high);
  }
  // A level is shown if at least a quarter of the plot is left for the numbers.
  const double span = numbers.high - numbers.low;
  if (std::isfinite(plot.level) && !plot.log_y && numbers.low - plot.level <= 3 * span && plot.level - numbers.high <= 3 * span)
    scale.add(plot.level);
  scale.widen(0.05);
  if (plot.log_y) return scale;
  // Fractions need no room below 0 or above 1.
  const double hair = (scale.high - scale.low) * 0.01;
  scale.low = std::min(std::max(scale.low, plot.least - hair), numbers.low);
  scale.high = std::max(std::min(scale.high, plot.most + hair), numbers.high);
  return scale;
}

// The scale of the x axis, which the panels share.
Scale x_scale(std::span<const Plot> panels, double from, double to) {
  const Plot::Style style = panels.front().style;
  Scale scale{.log = panels.front().log_x, .from = from, .to = to};
  for_each_point(panels, [&](const PlotPoint& point) { scale.add(point.x); });
  std::size_t names = 0;
  for (const auto& plot : panels) names = std::max(names, plot.x_names.size());
  // Points drawn side by side must stay within the axis.
  const double beside = kMaxShift * static_cast<double>(kMaxLines - 1) / 2 + 4;
  if (style == Plot::Style::bars)
    scale.low = 0, scale.high = scale.high > 0 ? scale.high * 1.25 : 1;
  else if (names > 0)
    scale.low = -0.6, scale.high = static_cast<double>(names) - 0.4;
  else
    scale.widen(std::max(style == Plot::Style::curves ? 0.02 : 0.06, beside / (to - from - 2 * beside)));
  return scale;
}

std::size_t longest_of(const std::vector<std::string>& names) {
  std::size_t longest = 0;
  for (const auto& name : names) longest = std::max(longest, name.size());
  return longest;
}

// Long category names slant downward if they would otherwise touch.
bool slants(const Plot& plot, double pixels) {
  const auto longest = static_cast<double>(longest_of(plot.x_names));
  return longest > 4 && longest * kLetter + 8 > pixels / static_cast<double>(plot.x_names.size());
}

struct Tick {
  double value;
  std::string text;
};

std::string short_text(double value, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Ticks at round numbers, usually at least `pixels` apart: multiples of 1, 2 or 5 times a power of ten; on a log axis, these
// numbers themselves, or only the powers if it is long.
std::vector<Tick> number_ticks(const Scale& scale, double pixels) {
  const double most = std::clamp(scale.pixels() / pixels, 2.0, 8.0);
  std::vector<Tick> ticks;
  const auto add = [&](double value) {
    if (const double room = (scale.high - scale.low) * 1e-9; value >= scale.low - room && value <= scale.high + room)
      ticks.push_back({value, short_text(value, "%.10g")});
  };
  if (scale.log) {
    const double first = std::floor(std::log10(scale.low)), last = std::floor(std::log10(scale.high));
    for (double power = first; power <= last; ++power)
      for (const double digit : {1.0, 2.0, 5.0}) add(digit * std::pow(10, power));
    if (static_cast<double>(ticks.size()) > most + 2) {
      ticks.clear();
      for (double power = first; power <= last; power += std::ceil((last - first) / most)) add(std::pow(10, power));
    }
    if (ticks.size() > 1) return ticks;
    ticks.clear();
  }
  const double least = (scale.high - scale.low) / most, power = std::pow(10, std::floor(std::log10(least)));
  constexpr double kSteps[] = {0.2, 0.5, 1, 2, 5, 10};
  const double* step = std::ranges::find_if(kSteps, [&](double one) { return one * power >= least; });
  // A single label does not show the scale, so use a smaller step.
  for (; ticks.size() < 2; --step) {
    ticks.clear();
    const double size = *step * power;
    for (double i = std::ceil(scale.low / size - 1e-6); i * size <= scale.high + size * 1e-6; ++i) add(i * size + 0.0);
    if (step == kSteps) break;
  }
  return ticks;
}

// Ticks with names at 0, 1, ...; some are omitted if they would touch.
std::vector<Tick> name_ticks(const std::vector<std::string>& names, const Scale& scale, double pixels) {
  const double fitting = std::max(1.0, std::floor(scale.pixels() / pixels));
  const auto step = static_cast<std::size_t>(std::ceil(static_cast<double>(names.size()) / fitting));
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < names.size(); i += step)
    ticks.push_back({static_cast<double>(i), shortened(names[i], kMaxNameLetters)});
  return ticks;
}

std::vector<Tick> x_ticks(const Plot& plot, const Scale& x) {
  const double name = kLetter * static_cast<double>(longest_of(plot.x_names)) + 6;
  if (!plot.x_names.empty()) return name_ticks(plot.x_names, x, slants(plot, x.pixels()) ? 15 : name);
  if (plot.style == Plot::Style::bars) return number_ticks(x, 90);
  // Label the values themselves if they are few, short and far enough apart.
  std::set<double> values;
  for (const auto& line : plot.lines)
    if (!line.is_reference)
      for (const auto& point : line.points) values.insert(point.x);
  std::vector<Tick> ticks;
  for (const double value : values) {
    const bool touches = !ticks.empty() && x.at(value) - x.at(ticks.back().value) < 44;
    if (ticks.size() == 12 || number_text(value).size() > 8 || touches) return number_ticks(x, 60);
    ticks.push_back({value, short_text(value, "%.10g")});
  }
  return ticks;
}

/// Keeps the markers and intervals of a panel's lines from overlapping: long lines are marked at different points, and short
/// lines are drawn a few pixels apart.
struct Spacing {
  std::size_t step = 1;            ///< one point in this many is marked
  std::size_t phase = 0;           ///< shift of the marked points from one line to the next
  std::vector<double> shift = {};  ///< offset of each line, in pixels

  Spacing(const Plot& plot, const Scale& x) : shift(plot.lines.size(), 0.0) {
    std::size_t longest = 0, count = 0, with_intervals = 0;
    double gap = x.pixels();
    for (const auto& line : plot.lines) {
      if (line.is_reference) continue;
      ++count;
      longest = std::max(longest, line.points.size());
      with_intervals += std::ranges::any_of(line.points, [&](const PlotPoint& point) { return has_interval(plot, point); });
      for (std::size_t i = 1; i < line.points.size(); ++i)
        if (const double next = std::fabs(x.at(line.points[i].x) - x.at(line.points[i - 1].x)); next > 0)
          gap = std::min(gap, next);
    }
    const auto most = std::clamp<std::size_t>(static_cast<std::size_t>(x.pixels() / 45), 3, 12);
    const bool is_curve = plot.style == Plot::Style::curves;
    if (is_curve) step = std::max<std::size_t>(1, (longest + most - 1) / most);
    if (is_curve && count > 1 && longest > most && longest >= 2 * count) {
      step = std::max(step, count);
      phase = step / count;
    } else if (with_intervals > 1) {
      const double between = std::min(kMaxShift, 0.8 * gap / static_cast<double>(count));
      double place = -0.5 * static_cast<double>(count - 1);
      for (std::size_t i = 0; i < shift.size(); ++i)
        if (!plot.lines[i].is_reference) shift[i] = between * place++;
    }
  }

  bool is_marked(std::size_t line, std::size_t point, std::size_t points) const {
    return (points - 1 - point) % step == line * phase % step;
  }
};

std::string px(double pixels) { return number_text(std::round(pixels * 100) / 100); }

std::string at(double x, double y) { return px(x) + " " + px(y); }

// The SVG of the figure being drawn.
struct Canvas {
  ChartFor target;
  std::string body = {};
  std::string marks = {};  ///< hover targets, drawn on top of everything else

  std::string paint(const ChartColor& color) const {
    return target == ChartFor::file ? color.light : std::string("var(--") + color.name + ")";
  }

  void text(double x, double y, const char* anchor, const std::string& words, const std::string& more = {}) {
    if (words.empty()) return;
    body += "<text x=\"" + px(x) + "\" y=\"" + px(y + 4.5) + "\" text-anchor=\"" + anchor + "\"" + more + ">" + escaped(words) +
            "</text>\n";
  }

  void path(const std::string& steps, const std::string& stroke, const std::string& fill, const std::string& more = {}) {
    if (steps.empty()) return;
    body += "<path d=\"" + steps + "\" stroke=\"" + stroke + "\" fill=\"" + fill + "\"" + more + "/>\n";
  }

  void curve(const PlotLine& line, const std::string& steps, const std::string& markers) {
    const Look& look = kLooks[line.look];
    const std::string color = paint(look.color);
    path(steps, color, "none",
         std::string(" class=\"line\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke-dasharray=\"") + look.dash + "\"");
    path(markers, color, look.is_filled ? color : paint(kPaper), " class=\"marker\" stroke-width=\"1.4\"");
  }

  void mark(const PlotPoint& point, double x, double y) {
    if (point.text.empty() || target == ChartFor::phone) return;
    marks += "<circle class=\"v\" cx=\"" + px(x) + "\" cy=\"" + px(y) + "\" r=\"6\" data-x=\"" + number_text(point.x) +
             "\" data-y=\"" + number_text(point.y) + '"';
    if (std::isfinite(point.low))
      marks += " data-low=\"" + number_text(point.low) + "\" data-high=\"" + number_text(point.high) + '"';
    marks += "><title>" + escaped(point.text) + "</title></circle>\n";
  }

  void axes(const Plot& plot, const Scale& x, const Scale& y, bool has_x_texts, bool has_y_texts) {
    const double bottom = std::max(y.from, y.to), top = std::min(y.from, y.to);
    std::string grid, ticks;
    for (const Tick& tick : x_ticks(plot, x)) {
      const double place = x.at(tick.value);
      ticks += "M" + at(place, bottom) + "v5";
      if (plot.style == Plot::Style::bars) grid += "M" + at(place, bottom) + "V" + px(top);
      if (has_x_texts && slants(plot, x.pixels()))
        text(place - 4, bottom + 13, "start", tick.text, " transform=\"rotate(30 " + at(place, bottom + 13) + ")\"");
      else if (has_x_texts)
        text(place, bottom + 16, "middle", tick.text);
    }
    for (const Tick& tick : plot.y_names.empty() ? number_ticks(y, 30) : name_ticks(plot.y_names, y, 15)) {
      const double place = y.at(tick.value);
      ticks += "M" + at(x.from, place) + "h-5";
      if (!is_table(plot)) grid += "M" + at(x.from, place) + "H" + px(x.to);
      if (has_y_texts) text(x.from - 9, place, "end", tick.text);
    }
    path(grid, paint(kGrid), "none");
    path(ticks + "M" + at(x.from, top) + "V" + px(bottom) + "H" + px(x.to), paint(kInk), "none");
  }

  void curves(const Plot& plot, const Scale& x, const Scale& y) {
    const Spacing spacing(plot, x);
    if (plot.level >= y.low && plot.level <= y.high) {
      path("M" + at(x.from, y.at(plot.level)) + "H" + px(x.to), paint(kSoft), "none",
           " class=\"level\" stroke-width=\"1\" stroke-dasharray=\"1 3\"");
      text(x.to - 4, y.at(plot.level) - 9, "end", plot.level_text, " fill=\"" + paint(kSoft) + "\" font-size=\"11\"");
    }
    for (std::size_t index = 0; index < plot.lines.size(); ++index) {
      const PlotLine& line = plot.lines[index];
      std::string steps, intervals, markers;
      for (std::size_t i = 0; i < line.points.size(); ++i) {
        const PlotPoint& point = line.points[i];
        const double place = x.at(point.x) + spacing.shift[index];
        const std::string here = at(place, y.at(point.y));
        steps += (steps.empty() ? "M" : "L") + here;
        mark(point, place, y.at(point.y));
        if (line.is_reference || !spacing.is_marked(index, i, line.points.size())) continue;
        markers += "M" + here + kLooks[line.look].marker;
        if (has_interval(plot, point))
          intervals += "M" + at(place, y.at(std::max(point.low, y.low))) + "V" + px(y.at(std::min(point.high, y.high)));
      }
      if (line.is_reference) steps = "M" + at(x.from, y.at(line.points.front().y)) + "H" + px(x.to);
      path(intervals, paint(kLooks[line.look].color), "none", " class=\"interval\" stroke-width=\"1.2\"");
      curve(line, steps, markers);
    }
  }

  // Draws horizontal bars with their numbers, or a map's squares, shaded from the page color for 0 to kMost for the largest
  // value.
  void table(const Plot& plot, const Scale& x, const Scale& y, bool has_numbers) {
    const PlotLine& line = plot.lines.front();
    const bool is_map = plot.style == Plot::Style::map;
    const double most = is_map ? std::ranges::max(line.values) : 0, half = is_map ? 0.5 : 0.35;
    for (std::size_t i = 0; i < line.points.size(); ++i) {
      const PlotPoint& point = line.points[i];
      const double value = is_map ? line.values[i] : point.x, here = x.at(point.x), row = y.at(point.y);
      // Small values stay visible.
      const double share = value > 0 ? std::max(value / most, 0.05) : 0;
      const double left = is_map ? x.at(point.x - half) : x.from, right = is_map ? x.at(point.x + half) : here;
      path("M" + at(left, y.at(point.y - half)) + "H" + px(right) + "V" + px(y.at(point.y + half)) + "H" + px(left) + "z",
           is_map ? paint(kGrid) : "none", paint(is_map ? kMost : kBar), is_map ? " fill-opacity=\"" + px(share) + "\"" : "");
      mark(point, here, row);
      if (!is_map)
        text(here + 6, row, "start", short_text(value, value >= 1000 ? "%.0f" : "%.4g"));
      else if (has_numbers && value != 0)
        text(here, row, "middle", short_text(value, "%.4g"), " fill=\"" + paint(share > 0.45 ? kPaper : kInk) + "\"");
    }
  }

  // Draws the legend, placing entries side by side while they fit; returns the y of the last row. A line whose name differs
  // between panels ("sgd, learning-rate 0.01") is listed under the common part of its name.
  double legend(std::span<const Plot> panels, double left, double top, double right) {
    constexpr double kRow = 21;
    std::vector<PlotLine> entries;
    for (const auto& plot : panels)
      for (const auto& line : plot.lines) {
        if (is_table(plot) || line.name.empty()) continue;
        const auto known = std::ranges::find(entries, line.look, &PlotLine::look);
        if (known == entries.end())
          entries.push_back({.name = line.name, .is_reference = line.is_reference, .look = line.look});
        else if (known->name != line.name && !line.thing.empty())
          known->name = line.thing;
      }
    double x = left, y = top;
    for (const PlotLine& entry : entries) {
      const auto fitting = static_cast<std::size_t>((right - left - kSwatch - 26) / kLetter);
      const std::string name = shortened(entry.name, std::min(kMaxNameLetters, fitting));
      const double width = kSwatch + 26 + kLetter * static_cast<double>(name.size());
      if (x > left && x + width > right) x = left, y += kRow;
      curve(entry, "M" + at(x, y) + "h" + px(kSwatch),
            entry.is_reference ? "" : "M" + at(x + kSwatch / 2, y) + kLooks[entry.look].marker);
      text(x + kSwatch + 8, y, "start", name);
      x += width;
    }
    return entries.empty() ? top - kRow : y;
  }
};

// Shortens a long name to its end, which contains the keys that vary fastest.
std::string end_of_name(const std::string& name, std::size_t letters) {
  if (name.size() <= letters) return name;
  std::size_t from = name.size() - letters + 1;
  while (from < name.size() && (static_cast<unsigned char>(name[from]) & 0xc0) == 0x80) ++from;
  return "…" + name.substr(from);
}

double panel_height(const Plot& plot, std::size_t columns, double width, bool is_narrow) {
  const auto rows = static_cast<double>(std::clamp<std::size_t>(plot.y_names.size(), 3, 40));
  if (plot.style == Plot::Style::bars) return 22 * rows;
  if (plot.style == Plot::Style::map) return (columns == 1 && !is_narrow ? 24 : 15) * rows;
  return (is_narrow ? 0.55 : columns == 1 ? 0.4 : columns == 2 ? 0.26 : 0.2) * width;
}

}  // namespace

std::string color_rules() {
  std::vector<ChartColor> colors{kInk, kPaper, kSoft, kGrid, kPanel, kBar, kMost};
  for (const auto& look : kLooks) colors.push_back(look.color);
  std::string light, dark;
  for (const auto& [name, on_light, on_dark] : colors) {
    light += std::string(" --") + name + ": " + on_light + ";";
    dark += std::string(" --") + name + ": " + on_dark + ";";
  }
  // The dark colors are only for screens: paper is always white.
  return "\n:root { color-scheme: light dark;" + light + " }\n@media screen and (prefers-color-scheme: dark) { :root {" + dark +
         " } }";
}

bool cuts_intervals(const Plot& plot) {
  const Scale shown = y_scale(plot);
  bool result = false;
  for_each_point({&plot, 1}, [&](const PlotPoint& point) {
    result = result || (has_interval(plot, point) && (point.low < shown.low || point.high > shown.high));
  });
  return result;
}

void share_scale(std::vector<Plot>& plots) {
  Scale shared;
  for (const auto& plot : plots) {
    const Scale own = y_scale(plot);
    shared.add(own.low);
    shared.add(own.high);
  }
  for (auto& plot : plots) plot.from = shared.low, plot.to = shared.high;
}

std::string chart_svg(std::span<const Plot> panels, const std::string& label, ChartFor target, double width) {
  const Plot& first = panels.front();
  const std::size_t count = panels.size();
  const bool has_bars = first.style == Plot::Style::bars, is_narrow = target == ChartFor::phone;
  if (is_narrow) width = kPhoneWidth;
  // Bar charts of different quantities are stacked, each under its own title.
  const std::size_t columns = count == 1 || has_bars || is_narrow ? 1 : count <= 4 ? 2 : 3;
  const double names = std::min(width / 2, kLetter * static_cast<double>(longest_of(first.y_names)) + 14);
  const double left = (first.y_names.empty() ? 56 : names) + (first.y_label.empty() ? 0 : 22);
  const double across = (width - left + kGap) / static_cast<double>(columns) - kGap - kRight;
  const bool has_titles = std::ranges::any_of(panels, [](const Plot& plot) { return !plot.panel.empty(); });
  const double below =
      slants(first, across) ? 34 + 3.6 * static_cast<double>(std::min(longest_of(first.x_names), kMaxNameLetters)) : 28;

  Canvas canvas{target};
  const double begin = has_titles ? 30 : 14;
  double top = begin, bottom = begin;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t column = i % columns;
    const bool has_x_texts = has_bars || is_narrow || i + columns >= count, ends_row = column + 1 == columns || i + 1 == count;
    Plot plot = panels[i];
    for (auto& name : plot.y_names) name = end_of_name(name, static_cast<std::size_t>(std::lround((names - 14) / kLetter)));
    bottom = top + panel_height(plot, columns, width, is_narrow);
    const double x_from = left + static_cast<double>(column) * (across + kRight + kGap);
    const Scale x = x_scale(has_bars ? panels.subspan(i, 1) : panels, x_from, x_from + across);
    Scale y = y_scale(plot);
    y.from = has_bars ? top : bottom;
    y.to = has_bars ? bottom : top;
    canvas.text(x_from + across / 2, top - 14, "middle", shortened(plot.panel, static_cast<std::size_t>(across / kLetter)));
    canvas.axes(plot, x, y, has_x_texts, column == 0);
    if (is_table(plot))
      canvas.table(plot, x, y, count == 1 && plot.x_names.size() <= 12);
    else
      canvas.curves(plot, x, y);
    if (ends_row) top = bottom + (has_x_texts ? below : 10) + (has_titles && i + 1 < count ? 28 : 0);
  }
  if (!first.y_label.empty()) {
    const double middle = (begin + bottom) / 2;
    // The unit is omitted if it does not fit.
    const bool fits = static_cast<double>(first.y_label.size()) * kLetter < bottom - begin + 40;
    canvas.text(12, middle, "middle", fits ? first.y_label : first.y_label.substr(0, first.y_label.find(" (")),
                " transform=\"rotate(-90 " + at(12, middle) + ")\"");
  }
  const double right = width - kRight;
  if (!first.x_label.empty()) canvas.text((left + right) / 2, top + 10, "middle", first.x_label), top += 24;
  const double height = std::ceil(canvas.legend(panels, left, top + 16, right) + 16);
  const char* kind = target == ChartFor::file ? " xmlns=\"http://www.w3.org/2000/svg\""  // implicit within HTML
                     : is_narrow              ? " class=\"narrow\""
                                              : " class=\"broad\"";
  return "<svg" + std::string(kind) + " viewBox=\"0 0 " + at(width, height) + "\" role=\"img\" aria-label=\"" + escaped(label) +
         "\" font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" font-size=\"13\" fill=\"" + canvas.paint(kInk) +
         "\">\n<rect width=\"100%\" height=\"100%\" fill=\"" + canvas.paint(kPaper) + "\"/>\n" + canvas.body +
         "<g fill=\"none\" pointer-events=\"all\" stroke=\"none\">\n" + canvas.marks + "</g>\n</svg>\n";
}

}  // namespace fedstride
