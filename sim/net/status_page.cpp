#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>

#include "core/text.hpp"
#include "sim/net/certificates.hpp"
#include "sim/net/status.hpp"

namespace fedstride {
namespace {

/// Formats like printf, up to 255 characters.
template <class... Values>
std::string printed(const char* format, Values... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

/// "8.2 s", "3 min 05 s", "12 h 40 min"; a dash for NaN, negative or huge values.
std::string duration_text(double seconds) {
  if (!(seconds >= 0 && seconds < 1e10)) return "–";
  if (seconds < 9.95) return printed("%.1f s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 120) return printed("%lld s", whole);
  if (whole < 600) return printed("%lld min %02lld s", whole / 60, whole % 60);
  if (whole < 7200) return printed("%lld min", whole / 60);
  if (whole < 172800) return printed("%lld h %02lld min", whole / 3600, whole / 60 % 60);
  return printed("%lld d %lld h", whole / 86400, whole / 3600 % 24);
}

/// "1.2 MB"; units are powers of 1000.
std::string bytes_text(std::uint64_t count) {
  if (count < 1000) return printed("%llu B", static_cast<unsigned long long>(count));
  double value = static_cast<double>(count) / 1000;
  std::size_t unit = 0;
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) value /= 1000, ++unit;
  return printed(value < 9.95 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
}

/// "1,234,567"
std::string grouped_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

constexpr std::size_t kMaxClientRows = 200;
constexpr std::size_t kMaxCurvePoints = 800;
constexpr std::size_t kMaxLabeledPoints = 100;

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #111111; --paper: #ffffff; --soft: #444444; --grid: #d9d9d9; --panel: #f4f4f4; --line: #0072b2 }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #15181c; --soft: #b4b9c0; --grid: #353a41; --panel: #1f2329; --line: #3b9be0 }
}
body { color: var(--ink); background: var(--paper); font: 1rem/1.45 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.35rem; margin: 0; overflow-wrap: anywhere }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
p { margin: .3rem 0 .6rem }
progress { width: 100%; height: 1rem; appearance: none; border: 1px solid var(--soft); background: var(--panel) }
progress::-webkit-progress-bar { background: var(--panel) }
progress::-webkit-progress-value { background: var(--line) }
progress::-moz-progress-bar { background: var(--line) }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .6rem 1.5rem; margin: 1.2rem 0 }
dt, .small { font-size: .85rem; opacity: .75 }
dd { margin: 0; overflow-wrap: anywhere }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem }
th, td { padding: .2rem .9rem .2rem 0; text-align: right; white-space: nowrap; vertical-align: top }
th { border-bottom: 1px solid; font-weight: 600 }
.text { text-align: left }
td.trouble { white-space: normal; overflow-wrap: anywhere }
.clients td.trouble { min-width: 8rem }
tr.late td:nth-child(-n+2) { font-weight: 700 }
svg { display: block; width: 100%; max-width: 40rem; height: auto }
footer { margin-top: 2rem; overflow-wrap: anywhere }
@media screen and (max-width: 45rem) {
  .clients thead, .clients td:empty { display: none }
  .clients tr { display: flex; flex-wrap: wrap; gap: 0 .9rem; padding: .35rem 0; border-bottom: 1px solid #8888 }
  .clients td { padding: 0 }
  .clients td.trouble { min-width: 100%; text-align: left }
  .clients td:nth-child(1)::before { content: "client " }
  .clients td:nth-child(4)::before { content: "last round " }
  .clients td:nth-child(5)::before { content: "waiting " }
  .clients td:nth-child(6)::before { content: "in " }
  .clients td:nth-child(7)::before { content: "out " }
  .clients td:nth-child(8)::before { content: "missed " }
}
@media print {
  :root { font-size: 11px }
  .wide { overflow: visible }
}
)";

bool has_ended(const FederationStatus& status) { return status.state == "finished" || status.state.starts_with("halted"); }

/// Returns the mean duration in seconds of the last 20 rounds; 0 if there are none.
double mean_round_seconds(const std::vector<RoundPoint>& points) {
  const std::size_t count = std::min<std::size_t>(points.size(), 20);
  double sum = 0;
  for (std::size_t i = points.size() - count; i < points.size(); ++i) sum += points[i].seconds;
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

std::string progress_line(const FederationStatus& status) {
  const bool ended = has_ended(status);
  const auto round = std::min(status.rounds, status.done + (ended ? 0 : 1));
  const bool in_round = status.state.starts_with("round");
  std::string line = in_round ? "<strong>" : "<strong>" + escaped(status.state) + "</strong> · ";
  line += "round " + grouped_text(round) + " of " + grouped_text(status.rounds) + (in_round ? "</strong>" : "");
  if (ended) return line + " · ran for " + duration_text(status.seconds_running);
  if (status.seconds_in_round > 0) {
    line += " · " + duration_text(status.seconds_in_round) + " so far";
    if (status.deadline > 0) line += ", deadline " + duration_text(status.deadline);
  }
  const double left = mean_round_seconds(status.points) * (status.rounds - std::min(status.done, status.rounds));
  if (left > 0) line += " · about " + duration_text(std::max(0.0, left - status.seconds_in_round)) + " left";
  return line;
}

enum class ShownState { late, away, asked, idle, answered, disconnected };

/// A client counts as late after half the deadline or 1.5 times the mean duration of recent rounds plus a second, whichever is
/// earlier.
ShownState state_of(const ClientStatus& client, const FederationStatus& status) {
  if (!client.in_cohort || client.answered)
    return !client.connected ? ShownState::disconnected : client.answered ? ShownState::answered : ShownState::idle;
  const double usual = mean_round_seconds(status.points);
  const bool late = (status.deadline > 0 && client.seconds_waiting > status.deadline / 2) ||
                    (usual > 0 && client.seconds_waiting > 1.5 * usual + 1);
  return late ? ShownState::late : client.connected ? ShownState::asked : ShownState::away;
}

std::string_view name_of(ShownState state, bool connected) {
  switch (state) {
    case ShownState::late:
      return connected ? "late" : "late, away";
    case ShownState::away:
      return "away, asked";
    case ShownState::asked:
      return "asked";
    case ShownState::idle:
      return "connected";
    case ShownState::answered:
      return "answered";
    case ShownState::disconnected:
      return "away";
  }
  return "";
}

std::string trouble_of(const ClientStatus& client, std::int64_t now) {
  const std::string soon = expiry_warning("its certificate", client.certificate_expires, now);
  return client.trouble + (client.trouble.empty() || soon.empty() ? "" : "; ") + soon;
}

std::string clients_table(const FederationStatus& status) {
  if (status.clients.empty()) return "<p>There are no clients yet.</p>\n";
  struct Row {
    ShownState state;
    const ClientStatus* client;
  };
  std::vector<Row> rows;
  for (const auto& client : status.clients) rows.push_back({state_of(client, status), &client});
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    const auto key = [](const Row& row) {
      return std::tuple(row.state, -row.client->seconds_waiting, row.client->trouble.empty(), row.client->client);
    };
    return key(a) < key(b);
  });

  std::string html =
      "<div class=\"wide\"><table class=\"clients\">\n<thead><tr><th>client</th><th class=\"text\">state</th><th "
      "class=\"text\">address</th>"
      "<th>last round</th><th>waiting</th><th>bytes in</th><th>bytes out</th><th>missed</th>"
      "<th class=\"text\">trouble</th></tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxClientRows); ++i) {
    const auto& client = *rows[i].client;
    const bool waits = client.in_cohort && !client.answered;
    html += rows[i].state == ShownState::late ? "<tr class=\"late\">" : "<tr>";
    html += "<td>" + std::to_string(client.client) + "</td><td class=\"text\">";
    html.append(name_of(rows[i].state, client.connected));
    if (!client.connected && std::isfinite(client.seconds_silent))
      html += ", seen " + duration_text(client.seconds_silent) + " ago";
    html += "</td><td class=\"text\">" + escaped(client.address) + "</td><td>" +
            (client.last_round > 0 ? grouped_text(client.last_round) : "–") + "</td><td>" +
            (waits ? duration_text(client.seconds_waiting) : "") + "</td><td>" + bytes_text(client.received) + "</td><td>" +
            bytes_text(client.sent) + "</td><td>" + grouped_text(client.missed) + "</td><td class=\"text trouble\">" +
            escaped(trouble_of(client, status.now)) + "</td></tr>\n";
  }
  html += "</tbody>\n</table></div>\n";
  if (rows.size() > kMaxClientRows)
    html += "<p class=\"small\">" + grouped_text(rows.size() - kMaxClientRows) +
            (rows.size() - kMaxClientRows == 1 ? " more client" : " more clients") +
            "; all are listed in <a href=\"/status\">/status</a></p>\n";
  return html;
}

std::string privacy_table(const std::vector<PrivacySpent>& privacy) {
  if (privacy.empty()) return "";
  std::string html =
      "<h2>Privacy spent</h2>\n<div class=\"wide\"><table>\n<thead><tr><th class=\"text\">level</th><th>ε</th>"
      "<th>δ</th><th>budget ε</th><th class=\"text\"></th></tr></thead>\n<tbody>\n";
  for (const auto& spent : privacy)
    html += "<tr><td class=\"text\">" + escaped(spent.level) + "</td><td>" + rounded_up(spent.epsilon) + "</td><td>" +
            rounded_up(spent.delta) + "</td><td>" + (spent.budget > 0 ? printed("%.4g", spent.budget) : "none") +
            "</td><td class=\"text trouble\">" + (spent.seeded ? "if the seed were secret" : "") + "</td></tr>\n";
  return html + "</tbody>\n</table></div>\n";
}

struct CurvePoint {
  double x = 0;
  double y = 0;
};

// Keeps at most about kMaxCurvePoints points: the lowest and highest of each group of consecutive points, and the last.
std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& all) {
  if (all.size() <= kMaxCurvePoints) return all;
  const std::size_t bundle = 2 * all.size() / kMaxCurvePoints + 1;
  std::vector<CurvePoint> points;
  for (std::size_t from = 0; from + 1 < all.size(); from += bundle) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(std::min(from + bundle, all.size() - 1));
    const auto [low, high] = std::minmax_element(first, last, [](const auto& a, const auto& b) { return a.y < b.y; });
    points.push_back(*std::min(low, high));
    if (low != high) points.push_back(*std::max(low, high));
  }
  points.push_back(all.back());
  return points;
}

// The multiples of 1, 2 or 5 times a power of ten in a range: about five.
std::vector<double> round_numbers(double low, double high) {
  const double power = std::pow(10, std::floor(std::log10((high - low) / 5)));
  const double share = (high - low) / 5 / power;
  const double step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  std::vector<double> numbers;
  for (double i = std::ceil(low / step - 1e-6); i * step <= high + step * 1e-6; ++i) numbers.push_back(i * step + 0.0);
  return numbers;
}

// The points as a line over rounds, an SVG element; `low` and `high` are the ends of the vertical axis. Few points have a mark,
// whose text is in the format `shown` if there is one.
std::string curve(const std::vector<CurvePoint>& points, const std::string& label, double low, double high, const char* shown) {
  constexpr double kLeft = 66, kRight = 460, kTop = 12, kBottom = 200;
  const double first = points.front().x, last = std::max(points.back().x, first + 1);
  const auto across = [&](double x) { return kLeft + (kRight - kLeft) * (x - first) / (last - first); };
  const auto up = [&](double y) { return kBottom - (kBottom - kTop) * (y - low) / (high - low); };
  std::string svg = "<svg viewBox=\"0 0 480 250\" role=\"img\" aria-label=\"" + label +
                    " over rounds\" font-size=\"13\" fill=\"var(--ink)\">\n<g stroke=\"var(--grid)\">";
  for (const double y : round_numbers(low, high)) svg += printed("<path d=\"M%g %.1fH%g\"/>", kLeft, up(y), kRight);
  svg += "</g>\n<g text-anchor=\"end\">";
  for (const double y : round_numbers(low, high))
    svg += printed("<text x=\"%g\" y=\"%.1f\">%.6g</text>", kLeft - 8, up(y) + 4, y);
  svg += "</g>\n<g text-anchor=\"middle\">";
  for (const double x : round_numbers(first, last))
    if (x == std::floor(x)) svg += printed("<text x=\"%.1f\" y=\"%g\">%.0f</text>", across(x), kBottom + 20, x);
  svg += printed("<text x=\"%g\" y=\"242\">round</text><text transform=\"rotate(-90 14 %g)\" x=\"14\" y=\"%g\">",
                 (kLeft + kRight) / 2, (kTop + kBottom) / 2, (kTop + kBottom) / 2) +
         label + "</text></g>\n<path fill=\"none\" stroke=\"var(--line)\" stroke-width=\"2\" d=\"";
  for (const auto& [x, y] : points) svg += printed("%c%.1f %.1f", &x == &points.front().x ? 'M' : 'L', across(x), up(y));
  svg += "\"/>\n<g fill=\"var(--line)\">";
  for (const auto& [x, y] : points)
    if (points.size() <= kMaxLabeledPoints)
      svg += printed("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>", across(x), up(y)) + printed(shown, x, y) +
             "</title></circle>";
  return svg + "</g>\n</svg>\n";
}

bool is_share(const RoundPoint& point) { return point.metric == "accuracy"; }

// Returns a chart of the test metric over rounds (accuracy in percent), or a sentence if no round has been evaluated.
std::string accuracy_curve(const std::vector<RoundPoint>& rounds) {
  std::vector<CurvePoint> points;
  for (const auto& point : rounds)
    if (point.accuracy && std::isfinite(*point.accuracy))
      points.push_back({.x = double(point.round), .y = is_share(point) ? 100 * *point.accuracy : *point.accuracy});
  if (points.empty()) return "<p>No round has been evaluated yet.</p>\n";
  const bool is_percent = is_share(rounds.back());
  const auto [least, most] = std::ranges::minmax(points, {}, &CurvePoint::y);
  // The axis of an accuracy spans at least five percentage points, so that noise does not look like progress.
  const double span = most.y - least.y;
  const double room = is_percent ? std::max((5 - span) / 2, span * 0.05) : std::max(span * 0.05, std::fabs(most.y) * 1e-3 + 1e-9);
  const double low = is_percent ? std::max(0.0, least.y - room) : least.y - room;
  const double high = is_percent ? std::min(100.0, most.y + room) : most.y + room;
  const std::string label = is_percent ? "test accuracy, %" : "test " + std::string(rounds.back().metric);
  return curve(thinned(points), label, low, high, is_percent ? "round %.0f: %.2f %%" : "round %.0f: %.4g");
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
  figure("connected", grouped_text(connected) + " of " + grouped_text(status.clients.size()));
  if (!has_ended(status)) figure("answered this round", grouped_text(answered) + " of " + grouped_text(asked));
  const auto& points = status.points;
  const auto evaluated =
      std::find_if(points.rbegin(), points.rend(), [](const auto& p) { return p.accuracy && std::isfinite(*p.accuracy); });
  if (evaluated != points.rend())
    figure(std::string(evaluated->metric) + ", round " + grouped_text(evaluated->round),
           is_share(*evaluated) ? printed("%.1f %%", 100 * *evaluated->accuracy) : printed("%.4f", *evaluated->accuracy));
  if (!points.empty()) {
    figure("training loss", std::isfinite(points.back().train_loss) ? printed("%.4g", points.back().train_loss) : "–");
    figure("last round", duration_text(points.back().seconds) + ", " + grouped_text(points.back().missing) + " missing");
  }
  figure("bytes in", bytes_text(status.received));
  figure("bytes out", bytes_text(status.sent));
  figure("gradient examples", grouped_text(status.examples));
  figure("connections refused", grouped_text(status.refused));
  figure("memory", bytes_text(status.memory));
  figure("disk free", bytes_text(status.disk_free));
  if (status.certificate_expires != 0)
    figure("certificate valid for", duration_text(static_cast<double>(status.certificate_expires - status.now)));
  figure("running for", duration_text(status.seconds_running));
  return html + "</dl>\n";
}

}  // namespace

std::string status_page(const FederationStatus& status) {
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  if (!has_ended(status)) html += "<meta http-equiv=\"refresh\" content=\"5\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" + escaped(status.state) + " – " +
          escaped(status.title) + "</title>\n<style>";
  html.append(kStyle).append("</style>\n</head>\n<body>\n");
  html += "<h1>" + escaped(status.title) + "</h1>\n<p>" + progress_line(status) + "</p>\n" +
          printed("<progress max=\"%u\" value=\"%u\">", std::max(1u, status.rounds), std::min(status.done, status.rounds)) +
          grouped_text(status.done) + " rounds done</progress>\n";
  if (const std::string soon = expiry_warning("The coordinator's certificate", status.certificate_expires, status.now);
      !soon.empty())
    html += "<p><strong>" + escaped(soon) + "</strong></p>\n";
  html += figures(status) + "<h2>Test " + std::string(status.points.empty() ? "accuracy" : status.points.back().metric) +
          "</h2>\n" + accuracy_curve(status.points) + privacy_table(status.privacy) + "<h2>Clients</h2>\n" +
          clients_table(status);
  html += "<footer class=\"small\">results in " + escaped(status.folder) +
          " · also as <a href=\"/status\">JSON</a> and <a href=\"/metrics\">metrics</a> · fedstride " + escaped(status.version) +
          "</footer>\n</body>\n</html>\n";
  return html;
}

}  // namespace fedstride
