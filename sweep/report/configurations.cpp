#include <algorithm>
#include <cmath>
#include <map>

#include "core/text.hpp"
#include "sweep/report/figures.hpp"
#include "sweep/report/html.hpp"
#include "sweep/report/metrics.hpp"
#include "sweep/report/sections.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxTableRows = 500;
constexpr std::size_t kMaxTableColumns = 10;

// Returns the main columns for runs; for other commands, as many columns as fit.
std::vector<std::string> columns_of(const SweepResults& sweep, const std::map<std::string, int, std::less<>>& known) {
  std::vector<std::string> columns;
  if (sweep.experiment.command == "run") {
    for (const char* name : {"test_accuracy",
                             "test_r2",
                             "test_loss",
                             "validation_accuracy",
                             "validation_r2",
                             "validation_loss",
                             "worst_client_accuracy",
                             "own_accuracy",
                             "own_accuracy_worst_tenth",
                             "own_r2",
                             "own_r2_worst_tenth",
                             "personal_accuracy",
                             "personal_accuracy_worst_tenth",
                             "personal_r2",
                             "personal_r2_worst_tenth",
                             "backdoor_success",
                             "rejected_share",
                             "epsilon_spent",
                             "delta_spent",
                             "client_epsilon_spent",
                             "client_delta_spent",
                             "rounds_done"})
      if (known.contains(name)) columns.emplace_back(name);
  }
  if (columns.empty())
    for (const auto& [name, count] : known)
      if (columns.size() < kMaxTableColumns) columns.push_back(name);
  return columns;
}

}  // namespace

std::string configurations(const SweepResults& sweep) {
  struct Entry {
    const SummaryRow* first;
    std::map<std::string_view, const SummaryRow*> metrics = {};
  };
  std::vector<Entry> all;
  std::map<std::string_view, std::size_t> places;
  std::map<std::string, int, std::less<>> known;
  std::vector<std::string> keys;
  bool is_tuned = false;
  for (const auto& row : sweep.summary) {
    if (row.round || row.client) continue;
    const auto [place, is_new] = places.try_emplace(row.configuration, all.size());
    if (is_new) all.push_back({&row});
    all[place->second].metrics[row.metric] = &row;
    ++known[row.metric];
    is_tuned = is_tuned || (row.rank > 0 && competes(sweep.experiment.tuning, row.point));
    for (const auto& [key, value] : row.point)
      if (is_new && std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  }
  if (all.empty()) return {};
  const auto columns = columns_of(sweep, known);
  std::string html = "<div class=\"wide\"><table>\n<thead><tr>";
  for (const auto& key : keys) html += "<th>" + escaped(key) + "</th>";
  for (const auto& column : columns)
    html += "<th class=\"n\" title=\"" + escaped(metric_label(column)) + "\">" + escaped(column) + "</th>";
  html += "<th class=\"n\">n</th>" + std::string(is_tuned ? "<th>rank</th>" : "") + "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < std::min(all.size(), kMaxTableRows); ++i) {
    const auto& [first, metrics] = all[i];
    const int rank = competes(sweep.experiment.tuning, first->point) ? first->rank : 0;
    html += rank == 1 ? "<tr class=\"first\">" : rank == 2 ? "<tr class=\"second\">" : "<tr>";
    for (const auto& key : keys) {
      const auto found = std::ranges::find(first->point, key, &std::pair<std::string, std::string>::first);
      const std::string value = found == first->point.end() ? "" : found->second;
      html += "<td" + std::string(number_of(value) ? " class=\"n\"" : "") + ">" + escaped(value) + "</td>";
    }
    int n = 0;
    for (const auto& column : columns) {
      const auto found = metrics.find(column);
      if (found == metrics.end()) {
        html += "<td class=\"n\"></td>";
        continue;
      }
      const SummaryRow& row = *found->second;
      n = std::max(n, row.n);
      html += "<td class=\"n\" title=\"" + number_text(row.mean) + "\">" + spread_for_people(row.mean, (row.high - row.low) / 2) +
              "</td>";
    }
    html += "<td class=\"n\">" + std::to_string(n) + "</td>";
    if (is_tuned)
      html += "<td>" +
              std::string(rank == 0   ? ""
                          : rank == 1 ? "best"
                          : rank == 2 ? "second best"
                                      : std::to_string(rank)) +
              "</td>";
    html += "</tr>\n";
  }
  html +=
      "</tbody></table></div>\n<p class=\"note\">Mean over n seeds ± half the width of its 95 % interval, after the last round.";
  if (all.size() > kMaxTableRows)
    html += " The first " + std::to_string(kMaxTableRows) + " of " + std::to_string(all.size()) +
            " configurations; see summary.csv for all.";
  html += "</p>\n";
  // A long table is folded: the table of results already has the main numbers.
  constexpr std::size_t kMaxOpenRows = 12;
  return all.size() > kMaxOpenRows ? folded("All configurations", html) : "<h2>Configurations</h2>\n" + html;
}

}  // namespace fedstride
