#pragma once

#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fedstride {

/// A data point of a figure, with the text shown when the pointer is over it.
struct PlotPoint {
  double x = 0;
  double y = 0;
  double low = std::numeric_limits<double>::quiet_NaN();  ///< lower end of the interval; NaN: none
  double high = std::numeric_limits<double>::quiet_NaN();
  std::string text = {};  ///< empty: no hover target
};

/// One line of a plot, all its bars, or the squares of a map (y is the row; the value sets the color).
struct PlotLine {
  std::string name = {};  ///< empty: not in the legend
  std::vector<PlotPoint> points = {};
  std::vector<double> values = {};  ///< for a map only: one per point
  bool is_reference = false;        ///< a reference level, drawn across the whole plot without markers
  std::string thing = {};           ///< the name without its chosen value ("sgd" for "sgd, learning-rate 0.01")
  /// Keys and values that describe the line, except those of its panel; lines with equal keys and values look the same throughout
  /// the page. Empty: the name identifies the line.
  std::vector<std::pair<std::string, std::string>> identity = {};
  bool is_part = false;  ///< shows part of a run (a client, an accountant), not one or more whole runs
  std::size_t look = 0;  ///< index in kLooks
};

/// One plot: its data, not its appearance.
struct Plot {
  enum class Style { curves, points, bars, map };
  Style style = Style::curves;
  std::string panel = {};  ///< what distinguishes this plot from the figure's others; empty if it is alone
  std::string x_label = {};
  std::string y_label = {};
  bool log_x = false;
  bool log_y = false;
  std::vector<std::string> x_names = {};  ///< categories instead of numbers: x is 0, 1, ...
  std::vector<std::string> y_names = {};
  double least = -std::numeric_limits<double>::infinity();  ///< intervals are cut off below this y
  double most = std::numeric_limits<double>::infinity();
  bool shows_intervals = true;                              ///< false: intervals appear only in the hover text
  double level = std::numeric_limits<double>::quiet_NaN();  ///< drawn across the plot if the y axis includes it; NaN: none
  std::string level_text = {};
  double from = std::numeric_limits<double>::quiet_NaN();  ///< start of the y axis; NaN: fitted to the numbers
  double to = std::numeric_limits<double>::quiet_NaN();
  std::vector<PlotLine> lines = {};
};

/// The maximum number of lines that dash, marker and color can distinguish in one plot.
inline constexpr std::size_t kMaxLines = 7;

/// A color: its name in the style sheet, and its values on light and dark pages.
struct ChartColor {
  const char* name;
  const char* light;
  const char* dark;
};
inline constexpr ChartColor kInk{"ink", "#111111", "#e6e6e6"}, kPaper{"paper", "#ffffff", "#15181c"},
    kSoft{"soft", "#444444", "#b4b9c0"}, kGrid{"grid", "#d9d9d9", "#353a41"}, kPanel{"panel", "#f4f4f4", "#1f2329"},
    kBar{"bar", "#8a8f98", "#7d848e"}, kMost{"most", "#003b5c", "#9fd0f5"};

/// How a line looks: its color, its SVG stroke-dasharray, and its marker, a path around (0, 0).
struct Look {
  ChartColor color;
  const char* dash;
  const char* marker;
  bool is_filled;
};

/// The looks of runs, followed by the looks of parts of a run. Within each group, any two are distinguishable with normal vision,
/// protanopia, deuteranopia and tritanopia, and by dash and marker on paper without color.
/// The first seven colors are from Okabe & Ito 2008, without its yellow, which is invisible on white paper.
extern const std::array<Look, 2 * kMaxLines> kLooks;

/// CSS rules that define all colors as variables (--ink, --paper, --l0, ...) for light pages, dark pages and paper.
std::string color_rules();

/// `page`: colors are the variables from color_rules. `phone`: the same, but in one column, `kPhoneWidth` pixels wide, and
/// without hover text. `file`: fixed colors on white.
enum class ChartFor { page, phone, file };
inline constexpr double kPhoneWidth = 380;

/// Draws the panels of a figure on a grid, with one legend below, as an SVG element. Each point with hover text becomes a
/// transparent `<circle class="v" data-x="..." data-y="...">` at its position, with that text as its title. The SVG element has
/// no scripts, ids or references; its class is "broad" for a page and "narrow" for a phone. `label` describes the figure for
/// people who cannot see it; `width` is in pixels.
std::string chart_svg(std::span<const Plot> panels, const std::string& label, ChartFor target, double width = 760);

/// True if an interval extends beyond the plot.
bool cuts_intervals(const Plot& plot);

/// Sets the same y axis for plots that are compared with each other.
void share_scale(std::vector<Plot>& plots);

}  // namespace fedstride
