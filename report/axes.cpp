#include "report/axes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/text.hpp"
#include "report/gnuplot.hpp"
#include "report/html.hpp"

namespace fedstride {

void Range::add(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

void Range::widen(bool log, double share) {
  if (low > high) low = log ? 0.1 : 0, high = 1;
  if (log) {
    const double factor = low == high ? 2 : std::pow(high / low, share);
    low /= factor;
    high *= factor;
  } else {
    const double more = low == high ? std::max(std::fabs(low) * 0.1, 1e-9) : (high - low) * share;
    low -= more;
    high += more;
  }
}

double Range::place(double value, bool log) const {
  return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

double Range::value(double place, bool log) const { return log ? low * std::pow(high / low, place) : low + place * (high - low); }

std::string Range::text() const { return "[" + number_text(low) + ":" + number_text(high) + "]"; }

double followed(const Plot& plot, const PlotPoint& point, double end) {
  end = std::clamp(end, plot.least, plot.most);
  return plot.log_y ? std::max(end, point.y / 10) : end;
}

namespace {

/// The range of the numbers, and that of their intervals.
std::pair<Range, Range> spans(const Plot& plot) {
  Range numbers, all;
  for (const auto& line : plot.lines)
    for (const auto& point : line.points) {
      numbers.add(point.y);
      all.add(point.y);
      if (!plot.shows_intervals) continue;
      if (std::isfinite(point.low)) all.add(followed(plot, point, point.low));
      if (std::isfinite(point.high)) all.add(followed(plot, point, point.high));
    }
  return {numbers, all};
}

// Intervals from two seeds can be many times as long as the range of the lines: they get as much room again as the lines
// have, above and below.
Range cut_off(const Plot& plot, const Range& numbers, Range all) {
  if (!(numbers.low < numbers.high)) return all;
  const double room = plot.log_y ? numbers.high / numbers.low : numbers.high - numbers.low;
  all.low = std::max(all.low, plot.log_y ? numbers.low / room : numbers.low - room);
  all.high = std::min(all.high, plot.log_y ? numbers.high * room : numbers.high + room);
  return all;
}

}  // namespace

Range y_range(const Plot& plot) {
  if (std::isfinite(plot.from)) return {plot.from, plot.to};
  const auto [numbers, all] = spans(plot);
  Range range = cut_off(plot, numbers, all);
  range.widen(plot.log_y, 0.05);
  // No room is left beyond 0 and 1 for shares of a whole.
  if (!plot.log_y) {
    const double hair = (range.high - range.low) * 0.01;
    range.low = std::min(std::max(range.low, plot.least - hair), numbers.low);
    range.high = std::max(std::min(range.high, plot.most + hair), numbers.high);
  }
  return range;
}

bool cuts_intervals(const Plot& plot) {
  const auto goes_beyond = [&](const PlotPoint& point) {
    return (std::isfinite(point.low) && followed(plot, point, point.low) > point.low) ||
           (std::isfinite(point.high) && followed(plot, point, point.high) < point.high);
  };
  if (plot.shows_intervals &&
      std::ranges::any_of(plot.lines, [&](const PlotLine& line) { return std::ranges::any_of(line.points, goes_beyond); }))
    return true;
  const auto [numbers, all] = spans(plot);
  const Range shown = std::isfinite(plot.from) ? Range{plot.from, plot.to} : cut_off(plot, numbers, all);
  return all.low < shown.low || all.high > shown.high;
}

void share_scale(std::vector<Plot>& plots) {
  Range shared;
  for (const auto& plot : plots) {
    const Range own = y_range(plot);
    shared.add(own.low);
    shared.add(own.high);
  }
  for (auto& plot : plots) plot.from = shared.low, plot.to = shared.high;
}

// gnuplot has one tic a decade on a log axis; where that is too few, these are 1, 2 and 5.
std::string log_tics(const Range& range, bool labels) {
  std::string list;
  int exponent = static_cast<int>(std::floor(std::log10(range.low)));
  if (range.high / range.low > 200) return {};
  for (; std::pow(10.0, exponent) <= range.high; ++exponent)
    for (const int digit : {1, 2, 5}) {
      const std::string text = std::to_string(digit) + "e" + std::to_string(exponent);
      const double value = std::stod(text);
      if (value >= range.low && value <= range.high)
        list += (list.empty() ? "" : ", ") + gnuplot_text(labels ? number_text(value) : "") + " " + text;
    }
  return list.empty() ? "" : "(" + list + ")";
}

std::string names_as_tics(const std::vector<std::string>& names, double pixels, bool labels) {
  constexpr double kLeastPixels = 15;
  const auto fitting = static_cast<std::size_t>(std::max(1.0, pixels / kLeastPixels));
  const std::size_t step = (names.size() + fitting - 1) / fitting;
  std::string list;
  for (std::size_t i = 0; i < names.size(); i += std::max<std::size_t>(step, 1)) {
    std::string name = labels ? shortened(names[i], 56) : "";
    for (std::size_t at = 0; (at = name.find('%', at)) != std::string::npos; at += 2) name.insert(at, 1, '%');
    list += (i > 0 ? ", " : "") + gnuplot_text(name) + " " + std::to_string(i);
  }
  return "(" + list + ")";
}

namespace {

// 1, 2 or 5 times a power of ten, with at most five tics: small panels have no room for more.
std::string wide_step(const Range& range) {
  const double least = (range.high - range.low) / 5;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const int digit : {1, 2, 5})
    if (digit * power >= least) return number_text(digit * power);
  return number_text(10 * power);
}

}  // namespace

// The numbers themselves as tics where they are few, short and far enough from each other.
std::string set_x_tics(const Plot& plot, const Range& range, double pixels, bool labels) {
  constexpr std::size_t kMaxTicLength = 8;
  constexpr double kLeastPixels = 44;
  if (!plot.x_names.empty()) {
    const bool is_long = std::ranges::any_of(plot.x_names, [](const std::string& name) { return name.size() > 4; });
    return "set xtics " + names_as_tics(plot.x_names, is_long || pixels > 300 ? pixels : pixels / 2, labels) +
           (is_long && plot.x_names.size() > 6 ? " rotate by -30\n" : " norotate\n");
  }
  std::set<double> values;
  for (const auto& line : plot.lines)
    if (!line.is_reference)
      for (const auto& point : line.points) values.insert(point.x);
  double before = -1;
  for (const double value : values) {
    const double place = range.place(value, plot.log_x);
    if (values.size() > 12 || (place - before) * pixels < kLeastPixels || number_text(value).size() > kMaxTicLength) {
      const std::string own = plot.log_x ? log_tics(range, labels) : "";
      if (own.empty() && !plot.log_x && pixels < 300) return "set xtics " + wide_step(range) + "\n";
      return "set xtics " + (own.empty() ? "autofreq" : own) + "\n";
    }
    before = place;
  }
  std::string list;
  for (const double value : values)
    list += (list.empty() ? "" : ", ") + gnuplot_text(labels ? number_text(value) : "") + " " + number_text(value);
  return "set xtics (" + list + ")\n";
}

}  // namespace fedstride
