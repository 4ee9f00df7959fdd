#include "net/accuracy_curve.hpp"

#include <algorithm>
#include <cmath>

#include "net/page_text.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxCurvePoints = 800;

/// A step of 1, 2 or 5 times a power of ten that cuts the span in at most `most` pieces.
double nice_step(double span, double most) {
  const double power = std::pow(10, std::floor(std::log10(span / most)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (span / (factor * power) <= most * (1 + 1e-9)) return factor * power;
  return 10 * power;
}

struct CurvePoint {
  double round, percent;
};

/// At most about kMaxCurvePoints points: the lowest and the highest of each bundle of neighbours.
std::vector<CurvePoint> curve_of(const std::vector<RoundPoint>& points) {
  std::vector<CurvePoint> all;
  for (const auto& point : points)
    if (point.accuracy && std::isfinite(*point.accuracy)) all.push_back({double(point.round), 100 * *point.accuracy});
  if (all.size() <= kMaxCurvePoints) return all;
  const std::size_t bundle = 2 * all.size() / kMaxCurvePoints + 1;
  std::vector<CurvePoint> thinned;
  for (std::size_t from = 0; from + 1 < all.size(); from += bundle) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(std::min(from + bundle, all.size() - 1));
    const auto [low, high] = std::minmax_element(first, last, [](const auto& a, const auto& b) { return a.percent < b.percent; });
    thinned.push_back(*std::min(low, high));
    if (low != high) thinned.push_back(*std::max(low, high));
  }
  thinned.push_back(all.back());
  return thinned;
}

}  // namespace

std::string accuracy_curve(const std::vector<RoundPoint>& points) {
  const auto curve = curve_of(points);
  if (curve.empty()) return "<p>No round has been evaluated yet.</p>\n";
  constexpr double kWidth = 480, kHeight = 250, kLeft = 44, kRight = 20, kTop = 22, kBottom = 40;
  const auto [least, most] =
      std::minmax_element(curve.begin(), curve.end(), [](auto& a, auto& b) { return a.percent < b.percent; });
  const double room = std::max(0.0, 5 - (most->percent - least->percent)) / 2;
  const double step_y = nice_step(most->percent - least->percent + 2 * room, 5);
  const double low = std::floor(std::max(0.0, least->percent - room) / step_y) * step_y;
  const double high = std::ceil(std::min(100.0, most->percent + room) / step_y) * step_y;
  const double step_x = std::max(1.0, nice_step(std::max(curve.back().round, 5.0), 6));
  const double end = std::max(5.0, curve.back().round);
  const auto x = [&](double round) { return kLeft + (kWidth - kLeft - kRight) * round / end; };
  const auto y = [&](double value) { return kHeight - kBottom - (kHeight - kTop - kBottom) * (value - low) / (high - low); };

  std::string svg = printed("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", kWidth, kHeight) +
                    "Test accuracy in percent over rounds\">\n<text x=\"0\" y=\"11\">test accuracy, %</text>\n";
  for (double value = low; value <= high + step_y / 2; value += step_y)
    svg += printed("<path d=\"M%.1f %.1fH%.1f\" stroke=\"currentColor\" stroke-opacity=\"%g\"/>", kLeft, y(value),
                   kWidth - kRight, value == low ? 1 : 0.2) +
           printed("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", kLeft - 6, y(value) + 4,
                   std::round(value / step_y) * step_y);
  for (double round = 0; round <= end; round += step_x)
    svg += printed("<path d=\"M%.1f %.1fv5\" stroke=\"currentColor\"/>", x(round), y(low)) +
           printed("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.0f</text>\n", x(round), y(low) + 18, round);
  svg += printed("<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">round</text>\n", (kLeft + kWidth - kRight) / 2, kHeight - 4);
  svg += "<polyline fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\" stroke-linejoin=\"round\" points=\"";
  for (const auto& point : curve) svg += printed("%.1f,%.1f ", x(point.round), y(point.percent));
  return svg + printed("\"/>\n<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"currentColor\"/>\n</svg>\n", x(curve.back().round),
                       y(curve.back().percent));
}

}  // namespace fedstride
