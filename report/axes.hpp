#pragma once

#include <limits>
#include <string>
#include <vector>

#include "report/plot.hpp"

namespace fedstride {

/// The span of an axis.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value);  ///< widens the range; ignores values that are not finite
  void widen(bool log, double share);
  double place(double value, bool log) const;  ///< 0 at the low end, 1 at the high end
  double value(double place, bool log) const;  ///< the inverse
  std::string text() const;                    ///< "[0:1]"
};

/// The drawn end of an interval: within the metric's possible values, and above 0 on a log axis.
double followed(const Plot& plot, const PlotPoint& point, double end);

/// The y axis of a plot of lines: covers all numbers, and intervals up to a limit.
Range y_range(const Plot& plot);

/// True if an interval extends beyond the picture.
bool cuts_intervals(const Plot& plot);

/// Gives pictures that are compared with each other the same y axis.
void share_scale(std::vector<Plot>& plots);

/// Tics in gnuplot's syntax: names at 0, 1, ...; numbers of a log axis (empty: gnuplot's own are enough); the x axis.
/// `pixels`: the length of the axis; names that would touch are thinned out. Tics without `labels` have no texts.
std::string names_as_tics(const std::vector<std::string>& names, double pixels, bool labels = true);
std::string log_tics(const Range& range, bool labels = true);
std::string set_x_tics(const Plot& plot, const Range& range, double pixels, bool labels = true);

}  // namespace fedstride
