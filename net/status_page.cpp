#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <tuple>

#include "core/text.hpp"
#include "net/status.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kRows = 200;
constexpr std::size_t kCurvePoints = 800;

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark }
body { font: 16px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.35rem; margin: 0; overflow-wrap: anywhere }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
p { margin: .3rem 0 .6rem }
progress { width: 100%; height: 1rem }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .6rem 1.5rem; margin: 1.2rem 0 }
dt, .small { font-size: .85rem; opacity: .75 }
dd { margin: 0; overflow-wrap: anywhere }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem }
th, td { padding: .2rem 1rem .2rem 0; text-align: right; white-space: nowrap; vertical-align: top }
th { border-bottom: 1px solid; font-weight: 600 }
.text { text-align: left }
td.trouble { white-space: normal; min-width: 12rem; overflow-wrap: anywhere }
tr.late td { font-weight: 600 }
svg { display: block; width: 100%; max-width: 40rem; height: auto }
svg text { font: 12px system-ui, sans-serif; fill: currentColor }
)";

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    if (c == '&') html += "&amp;";
    else if (c == '<') html += "&lt;";
    else if (c == '>') html += "&gt;";
    else if (c == '"') html += "&quot;";
    else if (c == '\'') html += "&#39;";
    else html += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return html;
}

template <class... Values>
std::string print(const char* format, Values... values) {
  char buffer[128];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

std::string duration(double seconds) {
  if (!(seconds >= 0 && seconds < 1e10)) return "–";
  if (seconds < 9.95) return print("%.1f s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 120) return print("%lld s", whole);
  if (whole < 7200) return print("%lld min %02lld s", whole / 60, whole % 60);
  if (whole < 172800) return print("%lld h %02lld min", whole / 3600, whole / 60 % 60);
  return print("%lld d %lld h", whole / 86400, whole / 3600 % 24);
}

std::string bytes(std::uint64_t count) {
  if (count < 1000) return print("%llu B", static_cast<unsigned long long>(count));
  double value = static_cast<double>(count) / 1000;
  std::size_t unit = 0;
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) value /= 1000, ++unit;
  return print(value < 9.95 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
}

/// 1,234,567
std::string grouped(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string percent(double share) { return print("%.1f %%", 100 * share); }

bool has_ended(const FederationStatus& status) {
  return status.state == "finished" || status.state.starts_with("halted");
}

/// Mean of the last rounds; 0: none is done.
double usual_round(const std::vector<RoundPoint>& points) {
  const std::size_t count = std::min<std::size_t>(points.size(), 20);
  double sum = 0;
  for (std::size_t i = points.size() - count; i < points.size(); ++i) sum += points[i].seconds;
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

std::string progress_line(const FederationStatus& status) {
  const bool ended = has_ended(status);
  const auto round = std::min(status.rounds, status.done + (ended ? 0 : 1));
  std::string line = "round " + grouped(round) + " of " + grouped(status.rounds);
  if (ended) return line + " · ran " + duration(status.seconds_running);
  line += " · " + duration(status.seconds_in_round) + " in it";
  if (status.deadline > 0) line += " of at most " + duration(status.deadline);
  const double left = usual_round(status.points) * (status.rounds - std::min(status.done, status.rounds));
  if (left > 0) line += " · about " + duration(std::max(0.0, left - status.seconds_in_round)) + " left";
  return line;
}

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

/// At most about kCurvePoints: of each bundle of neighbours the lowest and the highest.
std::vector<CurvePoint> curve_of(const std::vector<RoundPoint>& points) {
  std::vector<CurvePoint> all;
  for (const auto& point : points)
    if (point.accuracy && std::isfinite(*point.accuracy)) all.push_back({double(point.round), 100 * *point.accuracy});
  if (all.size() <= kCurvePoints) return all;
  const std::size_t bundle = 2 * all.size() / kCurvePoints + 1;
  std::vector<CurvePoint> thinned;
  for (std::size_t from = 0; from + 1 < all.size(); from += bundle) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(std::min(from + bundle, all.size() - 1));
    const auto [low, high] =
        std::minmax_element(first, last, [](const auto& a, const auto& b) { return a.percent < b.percent; });
    thinned.push_back(*std::min(low, high));
    if (low != high) thinned.push_back(*std::max(low, high));
  }
  thinned.push_back(all.back());
  return thinned;
}

std::string accuracy_curve(const std::vector<RoundPoint>& points) {
  const auto curve = curve_of(points);
  if (curve.empty()) return "<p>No round has been evaluated yet.</p>\n";
  constexpr double kWidth = 480, kHeight = 250, kLeft = 44, kRight = 14, kTop = 22, kBottom = 40;
  const auto [least, most] =
      std::minmax_element(curve.begin(), curve.end(), [](auto& a, auto& b) { return a.percent < b.percent; });
  const double step_y = nice_step(std::max(most->percent - least->percent, 5.0), 5);
  const double low = std::floor(least->percent / step_y) * step_y;
  const double high = std::max(low + step_y, std::ceil(most->percent / step_y) * step_y);
  const double step_x = std::max(1.0, nice_step(std::max(curve.back().round, 5.0), 6));
  const double end = std::max(5.0, curve.back().round);
  const auto x = [&](double round) { return kLeft + (kWidth - kLeft - kRight) * round / end; };
  const auto y = [&](double value) { return kHeight - kBottom - (kHeight - kTop - kBottom) * (value - low) / (high - low); };

  std::string svg = print("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", kWidth, kHeight) +
                    "Test accuracy in percent over rounds\">\n<text x=\"0\" y=\"11\">test accuracy, %</text>\n";
  for (double value = low; value <= high + step_y / 2; value += step_y)
    svg += print("<path d=\"M%.1f %.1fH%.1f\" stroke=\"currentColor\" stroke-opacity=\"%g\"/>", kLeft, y(value),
                 kWidth - kRight, value == low ? 1 : 0.2) +
           print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", kLeft - 6, y(value) + 4,
                 std::round(value / step_y) * step_y);
  for (double round = 0; round <= end; round += step_x)
    svg += print("<path d=\"M%.1f %.1fv5\" stroke=\"currentColor\"/>", x(round), y(low)) +
           print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.0f</text>\n", x(round), y(low) + 18, round);
  svg += print("<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">round</text>\n", (kLeft + kWidth - kRight) / 2,
               kHeight - 4);
  svg += "<polyline fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\" stroke-linejoin=\"round\" points=\"";
  for (const auto& point : curve) svg += print("%.1f,%.1f ", x(point.round), y(point.percent));
  return svg + print("\"/>\n<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"currentColor\"/>\n</svg>\n",
                     x(curve.back().round), y(curve.back().percent));
}

enum class Standing { late, away, asked, idle, answered, gone };

/// Late: more than half of the deadline, or half as long again as rounds take.
Standing standing_of(const ClientStatus& client, const FederationStatus& status) {
  if (!client.in_cohort || client.answered)
    return !client.connected ? Standing::gone : client.answered ? Standing::answered : Standing::idle;
  const double usual = usual_round(status.points);
  const bool late = (status.deadline > 0 && client.seconds_waiting > status.deadline / 2) ||
                    (usual > 0 && client.seconds_waiting > 1.5 * usual + 1);
  return late ? Standing::late : client.connected ? Standing::asked : Standing::away;
}

std::string_view name_of(Standing standing, bool connected) {
  switch (standing) {
    case Standing::late:
      return connected ? "late" : "late, away";
    case Standing::away:
      return "away, asked";
    case Standing::asked:
      return "asked";
    case Standing::idle:
      return "connected";
    case Standing::answered:
      return "answered";
    case Standing::gone:
      return "away";
  }
  return "";
}

std::string clients_table(const FederationStatus& status) {
  if (status.clients.empty()) return "<p>No client is known yet.</p>\n";
  struct Row {
    Standing standing;
    const ClientStatus* client;
  };
  std::vector<Row> rows;
  for (const auto& client : status.clients) rows.push_back({standing_of(client, status), &client});
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    const auto key = [](const Row& row) {
      return std::tuple(row.standing, -row.client->seconds_waiting, row.client->trouble.empty(), row.client->client);
    };
    return key(a) < key(b);
  });

  std::string html =
      "<div class=\"wide\"><table>\n<thead><tr><th>client</th><th class=\"text\">state</th><th class=\"text\">address</th>"
      "<th>last round</th><th>waited for</th><th>bytes in</th><th>bytes out</th><th>missed</th>"
      "<th class=\"text\">trouble</th></tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < std::min(rows.size(), kRows); ++i) {
    const auto& client = *rows[i].client;
    const bool waits = client.in_cohort && !client.answered;
    html += rows[i].standing == Standing::late ? "<tr class=\"late\">" : "<tr>";
    html += "<td>" + std::to_string(client.client) + "</td><td class=\"text\">";
    html.append(name_of(rows[i].standing, client.connected));
    html += "</td><td class=\"text\">" + escaped(client.address) + "</td><td>" +
            (client.last_round > 0 ? grouped(client.last_round) : "–") + "</td><td>" +
            (waits ? duration(client.seconds_waiting) : "") + "</td><td>" + bytes(client.received) + "</td><td>" +
            bytes(client.sent) + "</td><td>" + grouped(client.missed) + "</td><td class=\"text trouble\">" +
            escaped(client.trouble) + "</td></tr>\n";
  }
  html += "</tbody>\n</table></div>\n";
  if (rows.size() > kRows)
    html += "<p class=\"small\">" + grouped(rows.size() - kRows) +
            " clients more; all of them: <a href=\"/status\">/status</a></p>\n";
  return html;
}

std::string privacy_table(const std::vector<PrivacySpent>& privacy) {
  if (privacy.empty()) return "";
  std::string html =
      "<h2>Privacy spent</h2>\n<div class=\"wide\"><table>\n<thead><tr><th class=\"text\">level</th><th>ε</th>"
      "<th>δ</th><th>budget ε</th><th class=\"text\"></th></tr></thead>\n<tbody>\n";
  for (const auto& spent : privacy)
    html += "<tr><td class=\"text\">" + escaped(spent.level) + "</td><td>" + print("%.4g", spent.epsilon) + "</td><td>" +
            print("%.3g", spent.delta) + "</td><td>" + (spent.budget > 0 ? print("%.4g", spent.budget) : "none") +
            "</td><td class=\"text\">" + (spent.seeded ? "seeded: what it would be if the seed were secret" : "") +
            "</td></tr>\n";
  return html + "</tbody>\n</table></div>\n";
}

std::string figures(const FederationStatus& status) {
  std::size_t connected = 0, asked = 0, answered = 0;
  for (const auto& client : status.clients) {
    connected += client.connected;
    asked += client.in_cohort;
    answered += client.in_cohort && client.answered;
  }
  std::string html = "<dl>\n";
  const auto figure = [&](std::string_view name, const std::string& value) {
    html.append("<div><dt>").append(name).append("</dt><dd>").append(value).append("</dd></div>\n");
  };
  figure("connected", grouped(connected) + " of " + grouped(status.clients.size()));
  figure("answered this round", grouped(answered) + " of " + grouped(asked));
  const auto& points = status.points;
  const auto evaluated = std::find_if(points.rbegin(), points.rend(), [](const auto& p) { return p.accuracy; });
  if (evaluated != points.rend())
    figure("test accuracy", percent(*evaluated->accuracy) + " (round " + grouped(evaluated->round) + ")");
  if (!points.empty()) {
    figure("training loss", std::isfinite(points.back().train_loss) ? print("%.4g", points.back().train_loss) : "–");
    figure("last round", duration(points.back().seconds) + ", " + grouped(points.back().missing) + " missing");
  }
  figure("bytes in", bytes(status.received));
  figure("bytes out", bytes(status.sent));
  figure("gradient examples", grouped(status.examples));
  figure("connections refused", grouped(status.refused));
  figure("memory", bytes(status.memory));
  figure("running for", duration(status.seconds_running));
  figure("results", escaped(status.folder));
  return html + "</dl>\n";
}

}  // namespace

std::string status_page(const FederationStatus& status) {
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  if (!has_ended(status)) html += "<meta http-equiv=\"refresh\" content=\"5\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" + escaped(status.state) +
          " – " + escaped(status.title) + "</title>\n<style>";
  html.append(kStyle).append("</style>\n</head>\n<body>\n");
  html += "<h1>" + escaped(status.title) + "</h1>\n<p><strong>" + escaped(status.state) + "</strong> · " +
          progress_line(status) + "</p>\n" +
          print("<progress max=\"%u\" value=\"%u\">", std::max(1u, status.rounds), std::min(status.done, status.rounds)) +
          grouped(status.done) + " rounds done</progress>\n";
  html += figures(status) + "<h2>Test accuracy</h2>\n" + accuracy_curve(status.points) + privacy_table(status.privacy) +
          "<h2>Clients</h2>\n" + clients_table(status);
  html += "<p class=\"small\">fedstride " + escaped(status.version) +
          " · the same as <a href=\"/status\">JSON</a> and as <a href=\"/metrics\">metrics</a></p>\n</body>\n</html>\n";
  return html;
}

}  // namespace fedstride
