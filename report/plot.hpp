#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace fedstride {

/// A number of a figure, with the text shown when the reader points at it.
struct PlotPoint {
  double x = 0;
  double y = 0;
  double low = std::numeric_limits<double>::quiet_NaN();  ///< of the interval; NaN: none
  double high = std::numeric_limits<double>::quiet_NaN();
  std::string text = {};
};

/// A line of a plot, or its bars, or the squares of a map (y: the row; value: the darkness).
struct PlotLine {
  std::string name = {};
  std::vector<PlotPoint> points = {};
  std::vector<double> values = {};  ///< of a map alone: one for each point
  bool is_reference = false;        ///< a level without an x: drawn from end to end without markers
  std::string thing = {};           ///< its name without what was chosen for it ("sgd" of "sgd, learning-rate 0.01")
  /// Keys and values that say what it shows, other than its panel does: what has one look on the whole page. Empty: its name.
  std::vector<std::pair<std::string, std::string>> identity = {};
  bool is_part = false;  ///< of a run (a client, an accountant), not a run or several
  std::size_t look = 0;  ///< in kLooks
};

/// One picture: its data, not its style.
struct Plot {
  enum class Style { curves, points, bars, map };
  Style style = Style::curves;
  std::string panel = {};  ///< the part that this one of several pictures shows; empty for the only one
  std::string x_label = {};
  std::string y_label = {};
  bool log_x = false;
  bool log_y = false;
  std::vector<std::string> x_names = {};  ///< categories instead of numbers: x is 0, 1, ...
  std::vector<std::string> y_names = {};
  double least = -std::numeric_limits<double>::infinity();  ///< y beyond which an interval is not followed
  double most = std::numeric_limits<double>::infinity();
  bool shows_intervals = true;                             ///< false: they are only in the texts
  double from = std::numeric_limits<double>::quiet_NaN();  ///< y axis; NaN: as the numbers need
  double to = std::numeric_limits<double>::quiet_NaN();
  std::vector<PlotLine> lines = {};
};

/// The most lines that can be told apart by dash, marker and colour; more need another picture.
inline constexpr std::size_t kMaxLines = 7;

}  // namespace fedstride
