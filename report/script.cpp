#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/text.hpp"
#include "report/axes.hpp"
#include "report/draw.hpp"
#include "report/gnuplot.hpp"
#include "report/html.hpp"
#include "report/layout.hpp"
#include "report/looks.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxMarkersOnALine = 12;
constexpr double kPixelsOfAMarker = 45;
constexpr double kMaxShift = 7;  // pixels between points that would cover each other

std::string block(const std::string& name, const std::string& rows) { return "$" + name + " << EOD\n" + rows + "EOD\n"; }

std::string row(std::initializer_list<double> numbers) {
  std::string text;
  for (const double number : numbers) text += (text.empty() ? "" : " ") + (std::isfinite(number) ? number_text(number) : "NaN");
  return text + "\n";
}

bool has_interval(const Plot& plot, const PlotPoint& point) {
  return plot.shows_intervals && std::isfinite(point.low) && std::isfinite(point.high) && point.low < point.high;
}

/// How the markers and intervals of a panel's lines keep off each other. Lines of many points have them at different points;
/// lines of few are drawn a few pixels beside each other.
struct Apart {
  std::size_t step = 1;         ///< every so many points is marked
  std::size_t phase = 0;        ///< between a line and the next
  std::vector<double> by = {};  ///< of each line, as a share of the x axis

  Apart(const Plot& plot, const Range& x, double pixels) : by(plot.lines.size(), 0.0) {
    std::size_t longest = 0, count = 0, with_intervals = 0;
    double gap = 1;
    for (const auto& line : plot.lines) {
      if (line.is_reference) continue;
      ++count;
      longest = std::max(longest, line.points.size());
      with_intervals += std::ranges::any_of(line.points, [&](const PlotPoint& point) { return has_interval(plot, point); });
      for (std::size_t i = 1; i < line.points.size(); ++i)
        if (const double next = std::fabs(x.place(line.points[i].x, plot.log_x) - x.place(line.points[i - 1].x, plot.log_x));
            next > 0)
          gap = std::min(gap, next);
    }
    const auto most = std::clamp<std::size_t>(static_cast<std::size_t>(pixels / kPixelsOfAMarker), 3, kMaxMarkersOnALine);
    if (plot.style == Plot::Style::curves) step = std::max<std::size_t>(1, (longest + most - 1) / most);
    if (plot.style == Plot::Style::curves && count > 1 && longest > most && longest >= 2 * count) {
      step = std::max(step, count);
      phase = step / count;
    } else if (with_intervals > 1) {
      const double shift = std::min(kMaxShift / pixels, 0.8 * gap / static_cast<double>(count));
      double place = -0.5 * static_cast<double>(count - 1);
      for (std::size_t i = 0; i < by.size(); ++i)
        if (!plot.lines[i].is_reference) by[i] = shift * place++;
    }
  }

  bool is_marked(std::size_t line, std::size_t point, std::size_t points) const {
    return (points - 1 - point) % step == line * phase % step;
  }
};

/// One panel being written: its plot, its axes and how its points stand.
struct Panel {
  const Plot& plot;
  std::string prefix;  ///< of the names of its data
  Range x, y;
  Apart apart;

  double shifted(std::size_t line, double value) const {
    return apart.by[line] == 0 ? value : x.value(x.place(value, plot.log_x) + apart.by[line], plot.log_x);
  }
};

/// The parts of the plot command for one line; its data go to `data`.
std::vector<std::string> line_parts(const Panel& panel, std::size_t index, std::string& data) {
  const Plot& plot = panel.plot;
  const PlotLine& line = plot.lines[index];
  const Look& look = kLooks[line.look];
  const std::string number = panel.prefix + std::to_string(index), colour = std::string(" lc rgb '") + look.light + "'";
  std::string points, intervals, markers;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const PlotPoint& point = line.points[i];
    const double x = panel.shifted(index, point.x);
    points += row({x, point.y});
    if (!panel.apart.is_marked(index, i, line.points.size())) continue;
    markers += row({x, point.y});
    if (has_interval(plot, point))
      intervals += row({x, point.y, followed(plot, point, point.low), followed(plot, point, point.high)});
  }
  if (line.is_reference) points = row({panel.x.low, line.points.front().y}) + row({panel.x.high, line.points.front().y});
  data += block("line" + number, points);
  std::vector<std::string> parts;
  if (!intervals.empty() && !line.is_reference) {
    data += block("interval" + number, intervals);
    parts.push_back("$interval" + number + " using 1:2:3:4 with yerrorbars" + colour + " lw 1.2 dt solid pt 0 notitle");
  }
  parts.push_back("$line" + number + " using 1:2 with lines" + colour + " lw 2 dt " + look.dash + " notitle");
  if (!line.is_reference) {
    data += block("markers" + number, markers);
    parts.push_back("$markers" + number + " using 1:2 with points" + colour + " pt " + std::to_string(look.marker) +
                    " ps 0.8 notitle");
  }
  return parts;
}

// Bars from left to right, the number at the end of each.
std::vector<std::string> bar_parts(const Panel& panel, std::string& data) {
  std::string rows;
  for (const auto& line : panel.plot.lines)
    for (const auto& point : line.points) rows += row({point.x, point.y, 0, point.x, point.y - 0.35, point.y + 0.35});
  const std::string name = "bars" + panel.prefix, colour = kPageColours[5].light;
  data += block(name, rows);
  return {"$" + name + " using 1:2:3:4:5:6 with boxxyerror lc rgb '" + colour + "' fs solid 1 noborder notitle",
          "$" + name + " using 1:2:(sprintf($1 >= 1000 ? ' %.0f' : ' %.4g', $1)) with labels left notitle"};
}

// The page's own colour for nothing, the strongest shade for the most.
std::vector<std::string> map_parts(const Panel& panel, bool is_single, std::string& data) {
  const Plot& plot = panel.plot;
  const PlotLine& line = plot.lines.front();
  double most = 0;
  for (const double value : line.values) most = std::max(most, value);
  std::vector<std::string> squares(kShades);
  std::string light, dark;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const PlotPoint& point = line.points[i];
    const double share = most > 0 ? std::clamp(line.values[i] / most, 0.0, 1.0) : 0;
    // A little is not nothing.
    auto step = static_cast<std::size_t>(std::lround(share * (kShades - 1)));
    if (line.values[i] > 0) step = std::max<std::size_t>(step, 1);
    squares[step] += row({point.x, point.y, point.x - 0.5, point.x + 0.5, point.y - 0.5, point.y + 0.5});
    if (line.values[i] != 0) (share > 0.45 ? light : dark) += row({point.x, point.y, line.values[i]});
  }
  std::vector<std::string> parts;
  for (std::size_t step = 0; step < kShades; ++step) {
    if (squares[step].empty()) continue;
    const std::string name = "squares" + panel.prefix + std::to_string(step);
    data += block(name, squares[step]);
    parts.push_back("$" + name + " using 1:2:3:4:5:6 with boxxyerror lc rgb '" + shade(step, false) +
                    "' fs solid 1 border lc rgb '" + kPageColours[3].light + "' notitle");
  }
  if (!is_single || plot.x_names.size() > 12) return parts;
  for (const auto& [kind, numbers, colour] :
       {std::tuple{"dark", dark, kPageColours[0].light}, std::tuple{"light", light, kPageColours[1].light}}) {
    if (numbers.empty()) continue;
    const std::string name = kind + panel.prefix;
    data += block(name, numbers);
    parts.push_back("$" + name + " using 1:2:(sprintf('%.4g', $3)) with labels tc rgb '" + colour + "' notitle");
  }
  return parts;
}

std::string marks_of(const Panel& panel, std::size_t& mark) {
  std::string rows;
  for (std::size_t i = 0; i < panel.plot.lines.size(); ++i)
    for (const auto& point : panel.plot.lines[i].points)
      rows += number_text(panel.shifted(i, point.x)) + " " + number_text(point.y) + " v" + std::to_string(mark++) + "\n";
  return rows;
}

// The axes of panels that share them are those of all.
Range x_range(std::span<const Plot> panels, std::size_t index, bool shared, double pixels) {
  Range x;
  for (std::size_t i = 0; i < panels.size(); ++i)
    if (shared || i == index)
      for (const auto& line : panels[i].lines)
        for (const auto& point : line.points) x.add(point.x);
  const Plot& plot = panels[index];
  if (plot.style == Plot::Style::bars) return {0, x.high > 0 ? x.high * 1.35 : 1};
  std::size_t names = 0;
  for (std::size_t i = 0; i < panels.size(); ++i)
    if (shared || i == index) names = std::max(names, panels[i].x_names.size());
  const double margin = plot.style == Plot::Style::map ? 0.6 : 0.5;
  if (names > 0) return {-margin, static_cast<double>(names) - 1 + margin};
  // Points that stand beside each other stay within the axis.
  const double margin_pixels = kMaxShift * static_cast<double>(kMaxLines - 1) / 2 + 4;
  x.widen(plot.log_x, std::max(plot.style == Plot::Style::curves ? 0.02 : 0.06, margin_pixels / (pixels - 2 * margin_pixels)));
  return x;
}

std::string at_screen(const Layout& layout, double x, double y) {
  return "screen " + number_text(x / layout.width) + "," + number_text(1 - y / layout.height);
}

// The legend's swatches, and the labels of axes that panels share; objects of the first panel.
std::string common_objects(const Layout& layout, std::span<const Plot> panels) {
  std::string script;
  std::size_t number = 0;
  const auto label = [&](const std::string& text, double x, double y, const std::string& more) {
    script +=
        "set label " + std::to_string(++number) + " " + gnuplot_text(text) + " at " + at_screen(layout, x, y) + " " + more + "\n";
  };
  const Box &first = layout.panels.front(), &last = layout.panels.back();
  const double right = layout.panels[std::min(layout.columns, panels.size()) - 1].right;
  const double below = layout.legend_top - 13;
  if (layout.shares_x || panels.size() == 1)
    label(panels.front().x_label, (first.left + right) / 2, below, "center");
  else
    for (std::size_t i = 0; i < panels.size(); ++i)
      label(panels[i].x_label, (layout.panels[i].left + layout.panels[i].right) / 2, below, "center");
  if (!panels.front().y_label.empty()) label(panels.front().y_label, 12, (first.top + last.bottom) / 2, "center rotate by 90");
  const double column = (layout.width - 20) / static_cast<double>(layout.legend_columns);
  // A legend of one row stands in the middle, each entry as wide as its name.
  const auto width_of = [](const LegendEntry& entry) { return kSwatch + 20 + kLetter * static_cast<double>(entry.name.size()); };
  const bool is_one_row = layout.legend.size() <= layout.legend_columns;
  double all = 0;
  for (const auto& entry : layout.legend) all += width_of(entry);
  double next = (layout.width - all + 20) / 2;
  for (std::size_t i = 0; i < layout.legend.size(); ++i) {
    const LegendEntry& entry = layout.legend[i];
    const Look& look = kLooks[entry.look];
    const double x = is_one_row ? next : 20 + column * static_cast<double>(i % layout.legend_columns);
    next += width_of(entry);
    const double row = std::floor(static_cast<double>(i) / static_cast<double>(layout.legend_columns));
    const double y = layout.legend_top + 12 + kLegendRow * row;
    const std::string colour = std::string(" lc rgb '") + look.light + "'";
    script += "set arrow " + std::to_string(++number) + " from " + at_screen(layout, x, y) + " to " +
              at_screen(layout, x + kSwatch - 8, y) + " nohead" + colour + " lw 2 dt " + look.dash + "\n";
    if (!entry.is_reference)
      label("", x + (kSwatch - 8) / 2, y, "point" + colour + " pt " + std::to_string(look.marker) + " ps 0.8");
    label(entry.name, x + kSwatch, y, "left");
  }
  return script;
}

std::string set_up(const Panel& panel, const Layout& layout, std::size_t index) {
  const Plot& plot = panel.plot;
  const Box& box = layout.panels[index];
  const double pixels = box.right - box.left;
  std::string script = "set lmargin at screen " + number_text(box.left / layout.width) + "\nset rmargin at screen " +
                       number_text(box.right / layout.width) + "\nset tmargin at screen " +
                       number_text(1 - box.top / layout.height) + "\nset bmargin at screen " +
                       number_text(1 - box.bottom / layout.height) + "\n";
  script +=
      layout.titles[index].empty() ? "unset title\n" : "set title " + gnuplot_text(layout.titles[index]) + " offset 0,-0.7\n";
  script += plot.log_x ? "set logscale x\n" : "unset logscale x\n";
  script += plot.log_y ? "set logscale y\n" : "unset logscale y\n";
  const bool x_tics = layout.has_x_tics(index), y_tics = layout.has_y_tics(index);
  script += std::string("set format x '") + (x_tics ? "%g" : "") + "'\nset format y '" + (y_tics ? "%g" : "") + "'\n";
  script += "set xrange " + panel.x.text() + "\nset yrange " + panel.y.text() + "\n";
  if (plot.style == Plot::Style::bars) {
    const double step = std::pow(10, std::floor(std::log10(panel.x.high / 2)));
    const double tic = panel.x.high / step > 8 ? 5 * step : panel.x.high / step > 4 ? 2 * step : step;
    script += "set xtics " + number_text(tic) + "\nset grid xtics noytics\n";
  } else {
    script += set_x_tics(plot, panel.x, pixels, x_tics);
    script += plot.style == Plot::Style::map ? "unset grid\n" : "set grid ytics noxtics\n";
  }
  if (!plot.y_names.empty())
    script +=
        "set ytics " + names_as_tics(layout.shares_y ? layout.row_names : plot.y_names, box.bottom - box.top, y_tics) + "\n";
  else if (const auto own = plot.log_y ? log_tics(panel.y, y_tics) : ""; !own.empty())
    script += "set ytics " + own + "\n";
  else
    script += "set ytics autofreq\n";
  return script;
}

}  // namespace

FigureSize figure_size(std::span<const Plot> panels) {
  const Layout layout = layout_of(panels);
  return {layout.width, layout.height};
}

std::string gnuplot_script(std::span<const Plot> panels, const std::string& terminal, bool marks) {
  const Layout layout = layout_of(panels);
  std::string data, plots;
  std::size_t mark = 0;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const Plot& plot = panels[i];
    const Range x = x_range(panels, i, layout.shares_x, layout.panels[i].right - layout.panels[i].left);
    const bool is_table = plot.style == Plot::Style::bars || plot.style == Plot::Style::map;
    Range y = is_table ? Range{-0.6, static_cast<double>(plot.y_names.size()) - 0.4} : y_range(plot);
    const Panel panel{plot, std::to_string(i) + "_", x, y, Apart(plot, x, layout.panels[i].right - layout.panels[i].left)};
    std::vector<std::string> parts;
    if (plot.style == Plot::Style::map)
      parts = map_parts(panel, panels.size() == 1, data);
    else if (plot.style == Plot::Style::bars)
      parts = bar_parts(panel, data);
    else
      for (std::size_t line = 0; line < plot.lines.size(); ++line)
        for (auto& part : line_parts(panel, line, data)) parts.push_back(std::move(part));
    if (marks) {
      data += block("marks" + panel.prefix, marks_of(panel, mark));
      parts.push_back("$marks" + panel.prefix + " using 1:2:3 with labels hypertext point pt 7 ps 1 notitle");
    }
    plots += set_up(panel, layout, i);
    if (plot.style == Plot::Style::bars) plots += "set yrange " + Range{y.high, y.low}.text() + "\n";
    plots += "plot " + joined(parts, ", \\\n  ") + "\n";
    if (i == 0) plots += "unset label\nunset arrow\n";
  }
  return terminal + data + "set encoding utf8\nset border 3 lw 1\nset tics nomirror out scale 0.6\nunset key\nset errorbars 0\n" +
         "set grid ytics lc rgb '" + kPageColours[3].light + "' lw 1 dt solid, lc rgb '" + kPageColours[3].light +
         "' lw 1 dt solid\nset style fill solid\nset multiplot\n" + common_objects(layout, panels) + plots + "unset multiplot\n";
}

}  // namespace fedstride
