#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/text.hpp"
#include "report/axes.hpp"
#include "report/draw.hpp"
#include "report/gnuplot.hpp"
#include "report/html.hpp"

namespace fedstride {
namespace {

// Okabe & Ito 2008 without its yellow, which is lost on white paper. Lines also differ by dash and by marker.
struct Look {
  const char* colour;
  const char* dash;
  int marker;
};
constexpr Look kLooks[kMaxLines] = {{"#0072B2", "solid", 7},       {"#D55E00", "(14,5)", 5}, {"#009E73", "(3,4)", 9},
                                    {"#CC79A7", "(14,4,3,4)", 13}, {"#000000", "(7,4)", 4},  {"#E69F00", "(20,4,3,4,3,4)", 11},
                                    {"#56B4E9", "(3,4,3,10)", 6}};

constexpr int kMarkersOnALine = 12;
constexpr std::size_t kMaxNameLength = 60;

std::string set_up(const Plot& plot, const Range& x, const Range& y) {
  std::string script = std::string() +
                       "set encoding utf8\nset border 3 lw 1\nset tics nomirror out\nset format '%g'\n"
                       "set grid ytics lc rgb '#d9d9d9' lw 1 dt solid\n"
                       "set key outside below center horizontal Left reverse samplen 4 spacing 1.3 width 2 maxcols " +
                       std::to_string(name_columns(plot)) +
                       "\n"
                       "set errorbars 0.6\n";
  if (!plot.panel.empty()) script += "set title " + gnuplot_text(shortened(plot.panel, 90)) + "\n";
  // An empty line keeps the names of the lines away from the axis.
  const bool is_named = std::ranges::any_of(plot.lines, [](const PlotLine& line) { return !line.name.empty(); });
  script += "set xlabel " + gnuplot_text(plot.x_label) + (is_named ? ".\"\\n\"" : "") + "\nset ylabel " +
            gnuplot_text(plot.y_label) + "\n";
  if (plot.log_x) script += "set logscale x\n";
  if (plot.log_y) script += "set logscale y\n";
  if (const auto own = plot.log_y ? log_tics(y) : ""; !own.empty()) script += "set ytics " + own + "\n";
  return script + "set xrange " + x.text() + "\nset yrange " + y.text() + "\n" + set_x_tics(plot, x);
}

std::string block(const std::string& name, const std::string& rows) { return "$" + name + " << EOD\n" + rows + "EOD\n"; }

std::string row(std::initializer_list<double> numbers) {
  std::string text;
  for (const double number : numbers) text += (text.empty() ? "" : " ") + (std::isfinite(number) ? number_text(number) : "NaN");
  return text + "\n";
}

/// The parts of the plot command for one line; its data go to `data`.
std::vector<std::string> line_parts(const Plot& plot, std::size_t index, const Range& x, std::string& data) {
  const PlotLine& line = plot.lines[index];
  const Look& look = kLooks[index % kMaxLines];
  const std::string number = std::to_string(index), colour = std::string(" lc rgb '") + look.colour + "'";
  const std::string stroke = colour + " lw 2 dt " + look.dash, marker = colour + " pt " + std::to_string(look.marker) + " ps 0.9";
  std::string points, intervals, markers;
  const std::size_t step = plot.style == Plot::Style::bands ? 1 + line.points.size() / kMarkersOnALine : 1;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const PlotPoint& point = line.points[i];
    points += row({point.x, point.y});
    if (plot.shows_intervals && std::isfinite(point.low) && std::isfinite(point.high) && point.low < point.high)
      intervals += row({point.x, point.y, followed(plot, point, point.low), followed(plot, point, point.high)});
    // Lines that share rounds have their markers at different ones; the last is marked on each.
    if (i % step == index % step || i + 1 == line.points.size()) markers += row({point.x, point.y});
  }
  if (line.is_reference) points = row({x.low, line.points.front().y}) + row({x.high, line.points.front().y});
  data += block("line" + number, points);
  std::vector<std::string> parts;
  if (!intervals.empty()) data += block("interval" + number, intervals);
  if (!intervals.empty() && plot.style == Plot::Style::bands && line.points.size() > 1)
    parts.push_back("$interval" + number + " using 1:3:4 with filledcurves" + colour +
                    " fs transparent solid 0.15 noborder notitle");
  else if (!intervals.empty() && !line.is_reference)
    parts.push_back("$interval" + number + " using 1:2:3:4 with yerrorbars" + colour + " lw 1.5 pt 0 notitle");
  parts.push_back("$line" + number + " using 1:2 with lines" + stroke + " notitle");
  if (!line.is_reference) {
    data += block("markers" + number, markers);
    parts.push_back("$markers" + number + " using 1:2 with points" + marker + " notitle");
  }
  if (!line.name.empty())
    parts.push_back(
        std::string("keyentry with ") +
        (line.is_reference ? "lines" + stroke : "linespoints" + stroke + " pt " + std::to_string(look.marker) + " ps 0.9") +
        " title " + gnuplot_text(shortened(line.name, kMaxNameLength)));
  return parts;
}

// Bars from left to right, the number at the end of each.
std::vector<std::string> bar_parts(const Plot& plot, std::string& data) {
  std::string rows;
  for (const auto& line : plot.lines)
    for (const auto& point : line.points) rows += row({point.x, point.y, 0, point.x, point.y - 0.35, point.y + 0.35});
  data += block("bars", rows);
  return {"$bars using 1:2:3:4:5:6 with boxxyerror lc rgb '#0072B2' fs solid 0.55 border lc rgb '#003B5C' notitle",
          "$bars using 1:2:(sprintf($1 >= 1000 ? ' %.0f' : ' %.4g', $1)) with labels left notitle"};
}

// White for nothing, dark for the most.
std::vector<std::string> map_parts(const Plot& plot, std::string& data) {
  const PlotLine& line = plot.lines.front();
  double most = 0;
  for (const double value : line.values) most = std::max(most, value);
  std::string rows, light, dark;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const PlotPoint& point = line.points[i];
    const double share = most > 0 ? line.values[i] / most : 0;
    const auto mixed = [&](int full) { return static_cast<int>(std::lround(255 + (full - 255) * share)); };
    const double colour = mixed(0x00) * 65536 + mixed(0x3b) * 256 + mixed(0x5c);
    rows += row({point.x, point.y, point.x - 0.5, point.x + 0.5, point.y - 0.5, point.y + 0.5, colour});
    if (line.values[i] != 0) (share > 0.45 ? light : dark) += row({point.x, point.y, line.values[i]});
  }
  data += block("squares", rows);
  std::vector<std::string> parts{
      "$squares using 1:2:3:4:5:6:7 with boxxyerror lc rgb variable fs solid 1 border lc rgb '#bbbbbb' notitle"};
  if (plot.x_names.size() > 12) return parts;
  for (const auto& [name, numbers, colour] : {std::tuple{"dark", dark, "#000000"}, std::tuple{"light", light, "#ffffff"}}) {
    if (numbers.empty()) continue;
    data += block(name, numbers);
    parts.push_back("$" + std::string(name) + " using 1:2:(sprintf('%.4g', $3)) with labels tc rgb '" + colour + "' notitle");
  }
  return parts;
}

std::string marks_of(const Plot& plot) {
  std::string rows;
  std::size_t mark = 0;
  for (const auto& line : plot.lines)
    for (const auto& point : line.points)
      rows += number_text(point.x) + " " + number_text(point.y) + " v" + std::to_string(mark++) + "\n";
  return rows;
}

}  // namespace

int name_columns(const Plot& plot) {
  std::size_t longest = 0;
  for (const auto& line : plot.lines) longest = std::max(longest, line.name.size());
  return longest > 36 ? 1 : longest > 20 ? 2 : 3;
}

std::string gnuplot_script(const Plot& plot, const std::string& terminal, bool marks) {
  Range x;
  for (const auto& line : plot.lines)
    for (const auto& point : line.points) x.add(point.x);
  Range y = y_range(plot);
  std::string data, tail;
  std::vector<std::string> parts;
  if (plot.style == Plot::Style::map || plot.style == Plot::Style::bars) {
    y = {-0.6, static_cast<double>(plot.y_names.size()) - 0.4};
    tail = "set ytics " + names_as_tics(plot.y_names) + "\nunset grid\nset style fill solid\n";
  }
  if (plot.style == Plot::Style::map) {
    x = {-0.6, static_cast<double>(plot.x_names.size()) - 0.4};
    parts = map_parts(plot, data);
  } else if (plot.style == Plot::Style::bars) {
    x = {0, x.high > 0 ? x.high * 1.2 : 1};
    tail += "set xtics autofreq\nset grid xtics lc rgb '#d9d9d9' lw 1 dt solid\nset yrange " + Range{y.high, y.low}.text() + "\n";
    parts = bar_parts(plot, data);
  } else {
    if (!plot.x_names.empty())
      x = {-0.5, static_cast<double>(plot.x_names.size()) - 0.5};
    else
      x.widen(plot.log_x, plot.style == Plot::Style::bands && x.high - x.low >= 1 ? 0.01 : 0.05);
    for (std::size_t i = 0; i < plot.lines.size(); ++i)
      for (auto& part : line_parts(plot, i, x, data)) parts.push_back(std::move(part));
  }
  if (marks) {
    data += block("marks", marks_of(plot));
    parts.push_back("$marks using 1:2:3 with labels hypertext point pt 7 ps 1 notitle");
  }
  return terminal + data + set_up(plot, x, y) + tail + "plot " + joined(parts, ", \\\n  ") + "\n";
}

}  // namespace fedstride
