#pragma once

#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fedstride {

/// A number of a figure, with the text shown when the pointer is over it.
struct PlotPoint {
  double x = 0;
  double y = 0;
  double low = std::numeric_limits<double>::quiet_NaN();  ///< of the interval; NaN: none
  double high = std::numeric_limits<double>::quiet_NaN();
  std::string text = {};  ///< empty: the reader cannot point at it
};

/// A line of a plot, or its bars, or the squares of a map (y: the row; value: the darkness).
struct PlotLine {
  std::string name = {};  ///< empty: not in the legend
  std::vector<PlotPoint> points = {};
  std::vector<double> values = {};  ///< only of a map: one for each point
  bool is_reference = false;        ///< a level without an x: drawn from end to end without markers
  std::string thing = {};           ///< its name without the value chosen for it ("sgd" of "sgd, learning-rate 0.01")
  /// Keys and values that say what it shows, except those of its panel; equal values have one look on the whole page. Empty:
  /// its name.
  std::vector<std::pair<std::string, std::string>> identity = {};
  bool is_part = false;  ///< part of a run (a client, an accountant), not one or several runs
  std::size_t look = 0;  ///< in kLooks
};

/// One picture: its data, not its style.
struct Plot {
  enum class Style { curves, points, bars, map };
  Style style = Style::curves;
  std::string panel = {};  ///< what this one of several pictures shows; empty if there is only one
  std::string x_label = {};
  std::string y_label = {};
  bool log_x = false;
  bool log_y = false;
  std::vector<std::string> x_names = {};  ///< categories instead of numbers: x is 0, 1, ...
  std::vector<std::string> y_names = {};
  double least = -std::numeric_limits<double>::infinity();  ///< intervals are cut below this y
  double most = std::numeric_limits<double>::infinity();
  bool shows_intervals = true;                              ///< false: they are only in the texts
  double level = std::numeric_limits<double>::quiet_NaN();  ///< drawn from end to end if it is in the picture; NaN: none
  std::string level_text = {};
  double from = std::numeric_limits<double>::quiet_NaN();  ///< y axis; NaN: fits the numbers
  double to = std::numeric_limits<double>::quiet_NaN();
  std::vector<PlotLine> lines = {};
};

/// The most lines distinguishable by dash, marker and color; more need another picture.
inline constexpr std::size_t kMaxLines = 7;

/// A color: its name in a style sheet, and its values on a light page and on a dark one.
struct ChartColor {
  const char* name;
  const char* light;
  const char* dark;
};
inline constexpr ChartColor kInk{"ink", "#111111", "#e6e6e6"}, kPaper{"paper", "#ffffff", "#15181c"},
    kSoft{"soft", "#444444", "#b4b9c0"}, kGrid{"grid", "#d9d9d9", "#353a41"}, kPanel{"panel", "#f4f4f4", "#1f2329"},
    kBar{"bar", "#8a8f98", "#7d848e"}, kMost{"most", "#003b5c", "#9fd0f5"};

/// How a line looks: its color, SVG's stroke-dasharray, and its marker, a path around (0, 0).
struct Look {
  ChartColor color;
  const char* dash;
  const char* marker;
  bool is_filled;
};

/// The looks of runs, then those of parts of a run. Any two of a kind are distinguishable with normal sight and with protanopia,
/// deuteranopia and tritanopia (tests/sweep/report/looks_test.cpp), and on paper without colors by dash and marker. The first
/// seven are from Okabe & Ito 2008, without its yellow, which is invisible on white paper.
extern const std::array<Look, 2 * kMaxLines> kLooks;

/// The rules that define all colors as variables, for a light page, a dark one and paper: --ink, --paper, --l0, ...
std::string color_rules();

/// `page`: colors are the variables of color_rules. `phone`: the same in one column, `kPhoneWidth` wide, without pointer texts.
/// `file`: colors are fixed, on white.
enum class ChartFor { page, phone, file };
inline constexpr double kPhoneWidth = 380;

/// The panels of a figure on a grid, with one legend below, as an SVG element. Each number that has a text is a transparent
/// `<circle class="v" data-x="..." data-y="...">` at its position, with a title for people; the element has no scripts, ids or
/// references. `label` describes the figure for people who cannot see it; `width` is in pixels. The class of a figure for a page
/// is "broad", for a phone "narrow".
std::string chart_svg(std::span<const Plot> panels, const std::string& label, ChartFor target, double width = 760);

/// True if an interval extends beyond the picture.
bool cuts_intervals(const Plot& plot);

/// Gives pictures that are compared with each other the same y axis.
void share_scale(std::vector<Plot>& plots);

}  // namespace fedstride
