#include "report/latex.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/html.hpp"
#include "core/text.hpp"
#include "report/metrics.hpp"
#include "sweep/results/paired.hpp"

namespace fedstride {
namespace {

bool is_tested(const Compared& entry) { return !entry.is_best && !std::isnan(entry.p); }

struct Column {
  std::string metric;
  std::string label;
  bool is_compared = false;  ///< has a best one
  bool highest = true;
  std::vector<Compared> entries = {};
};

std::vector<std::string> metrics_of(const SweepResults& sweep, const std::vector<Seeds>& configurations) {
  NameSet known;
  for (const auto& seeds : configurations)
    for (const CellResult* cell : seeds)
      if (cell->status == "finished")
        for (const auto& [name, value] : cell->numbers) known.insert(name);
  std::vector<std::string> metrics;
  for (const std::string name :
       {"test_accuracy", "validation_accuracy", "test_loss", "validation_loss", "epsilon_spent", "client_epsilon_spent"}) {
    const bool is_second = name.starts_with("validation_") && known.contains("test_" + name.substr(11));
    if (known.contains(name) && !is_second) metrics.push_back(name);
  }
  constexpr std::size_t kMaxOtherMetrics = 6;
  if (metrics.empty() || sweep.experiment.command != "run") {
    metrics.clear();
    for (const auto& name : known)
      if (metrics.size() < kMaxOtherMetrics && !is_timing(name)) metrics.push_back(name);
  }
  return metrics;
}

/// Two digits of the half width, and the mean to the same place.
std::string mean_text(const SeedStatistics& all, bool bold) {
  char buffer[96];
  const double half = (all.high - all.low) / 2;
  if (std::isfinite(half) && half > 0) {
    const int place = std::clamp(1 - static_cast<int>(std::floor(std::log10(half))), 0, 8);
    std::snprintf(buffer, sizeof buffer, bold ? "$\\mathbf{%.*f} \\pm %.*f$" : "$%.*f \\pm %.*f$", place, all.mean, place, half);
  } else {
    std::snprintf(buffer, sizeof buffer, bold ? "$\\mathbf{%.4g}$" : "$%.4g$", all.mean);
  }
  std::string text = buffer;
  // 1e-05 as LaTeX has it.
  if (const auto at = text.find('e'); at != std::string::npos && text.find("pm") == std::string::npos)
    if (const auto end = text.find_first_of("}$", at); end != std::string::npos)
      text.replace(at, end - at, " \\times 10^{" + std::to_string(std::atoi(text.c_str() + at + 1)) + "}");
  return text;
}

std::string p_text(const Compared& entry) {
  if (entry.is_best || std::isnan(entry.p)) return "--";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3f", entry.p);
  return entry.p < 0.001 ? "$<0.001$" : "$" + std::string(buffer) + "$";
}

std::string caption(const SweepResults& sweep, const std::vector<Column>& columns, int least, int most) {
  std::string text = sweep.experiment.title.empty() ? sweep.experiment.name : sweep.experiment.title;
  text = latex_text(text);
  if (!text.empty() && text.back() != '.') text += '.';
  const std::string seeds = least == most ? std::to_string(most) : std::to_string(least) + " to " + std::to_string(most);
  const bool is_run = sweep.experiment.command == "run";
  if (is_run) text += " After the last round.";
  if (most > 1)
    text += " Mean over " + seeds + " seeds $\\pm$ half the width of its 95\\,\\% interval (Student's $t$).";
  else if (is_run)
    text += " One seed, so no interval is known.";
  if (std::ranges::any_of(columns, &Column::is_compared)) text += " Bold: the best mean.";
  const bool has_tests = std::ranges::any_of(
      columns, [](const Column& column) { return column.is_compared && std::ranges::any_of(column.entries, is_tested); });
  if (has_tests)
    text +=
        " $p$: two-sided paired $t$-test against the best over common seeds, with Holm's correction; the best was chosen by the "
        "same numbers.";
  if (!sweep.experiment.tuning.keys.empty())
    text += " " + latex_text(joined(sweep.experiment.tuning.keys)) + ": ranked by " + sweep.experiment.tuning.metric +
            " on the " + sweep.experiment.tuning.on + " set.";
  return text;
}

std::string table_of(const SweepResults& sweep, std::size_t number) {
  std::vector<Seeds> configurations;
  std::vector<std::string> keys;
  for (auto& seeds : by_configuration(sweep.cells)) {
    if (std::ranges::none_of(seeds, [](const CellResult* cell) { return cell->status == "finished"; })) continue;
    for (const auto& [key, value] : seeds.front()->cell.point)
      if (key != "seed" && std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    configurations.push_back(std::move(seeds));
  }
  const std::string name = latex_text(sweep.experiment.name);
  if (configurations.empty()) return "% " + name + ": no finished cell\n";
  std::vector<Column> columns;
  int least = 1 << 30, most = 0;
  for (const auto& metric : metrics_of(sweep, configurations)) {
    Column column{.metric = metric, .label = title_of_metric(metric)};
    column.is_compared = configurations.size() > 1 && (metric.ends_with("accuracy") || metric.ends_with("loss"));
    column.highest = !metric.ends_with("loss");
    column.entries = compared(configurations, metric, column.highest);
    for (const auto& entry : column.entries)
      if (entry.statistics.n > 0) least = std::min(least, entry.statistics.n), most = std::max(most, entry.statistics.n);
    columns.push_back(std::move(column));
  }
  const auto has_p = [](const Column& column) { return column.is_compared && std::ranges::any_of(column.entries, is_tested); };
  std::string format, head, body;
  for (const auto& key : keys) {
    const bool is_number = std::ranges::all_of(configurations, [&](const Seeds& seeds) {
      const std::string value = seeds.front()->cell.value_of(key);
      return value.empty() || number_of(value);
    });
    format += is_number ? 'r' : 'l';
    head += (head.empty() ? "" : " & ") + latex_text(key);
  }
  if (keys.empty()) format = "l", head = "run";
  for (const auto& column : columns) {
    format += has_p(column) ? "rr" : "r";
    head += " & " + latex_text(column.label) + (has_p(column) ? " & $p$" : "");
  }
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    std::string line;
    for (std::size_t k = 0; k < keys.size(); ++k)
      line += (k > 0 ? " & " : "") + latex_text(configurations[i].front()->cell.value_of(keys[k]));
    if (keys.empty()) line = name;
    for (const auto& column : columns) {
      const Compared& entry = column.entries[i];
      line += " & " + (entry.statistics.n == 0 ? "--" : mean_text(entry.statistics, column.is_compared && entry.is_best));
      if (has_p(column)) line += " & " + p_text(entry);
    }
    body += line + " \\\\\n";
  }
  return "\\begin{table}\n\\centering\\footnotesize\\setlength{\\tabcolsep}{4pt}\n\\caption{" +
         caption(sweep, columns, least, most) + "}\n\\label{tab:fedstride-" + std::to_string(number) + "}\n\\begin{tabular}{@{}" +
         format + "@{}}\n\\toprule\n" + head + " \\\\\n\\midrule\n" + body + "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
}

}  // namespace

std::string latex_text(std::string_view text) {
  std::string result;
  for (const char c : clean_text(text)) switch (c) {
      case '\\':
        result += "\\textbackslash{}";
        break;
      case '~':
        result += "\\textasciitilde{}";
        break;
      case '^':
        result += "\\textasciicircum{}";
        break;
      case '<':
        result += "\\textless{}";
        break;
      case '>':
        result += "\\textgreater{}";
        break;
      case '|':
        result += "\\textbar{}";
        break;
      case '"':
        result += "''";
        break;
      case '{':
      case '}':
      case '$':
      case '&':
      case '#':
      case '_':
      case '%':
        result += '\\';
        result += c;
        break;
      case '\n':
      case '\t':
        result += ' ';
        break;
      default:
        result += c;
    }
  return result;
}

std::string latex_tables(const std::vector<SweepResults>& sweeps) {
  std::string text =
      "% Made by fedstride report --latex. In the preamble: \\usepackage{booktabs}; here: \\input{FILE}.\n"
      "% Figures: \\includegraphics[width=\\linewidth]{FIGURE.pdf}, from the folder beside the page.\n";
  for (std::size_t i = 0; i < sweeps.size(); ++i) text += "\n" + table_of(sweeps[i], i + 1);
  return text;
}

}  // namespace fedstride
