#include "sweep/report/report.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/text.hpp"
#include "sweep/report/metrics.hpp"
#include "sweep/report/result_grid.hpp"
#include "sweep/results/settings_of_cells.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxColumns = 5;  // maximum that fits side by side on a page

// Settings that a reader of the paper needs even at their defaults.
constexpr std::string_view kAlwaysSaid[] = {"batch", "clients", "local-epochs", "rounds"};

/// Returns a number, or half the width of an interval, for math mode: 1.0e-05 becomes 1.0 \times 10^{-5}.
std::string number_latex(const std::string& text) {
  const auto at = text.find('e');
  if (at == std::string::npos) return text;
  return text.substr(0, at) + " \\times 10^{" + std::to_string(std::atoi(text.c_str() + at + 1)) + "}";
}

// A cell fills two LaTeX columns, so that all means end, and all intervals begin, at the same position.
std::string cell_latex(const GridCell& cell) {
  if (cell.mean.empty()) return "-- &";
  const std::string mean = number_latex(cell.mean);
  const std::string star = cell.is_worse ? "^{*}" : "";
  std::string text = "$" + (cell.is_best ? "\\mathbf{" + mean + "}" : mean) + "$ &";
  if (!cell.half.empty())
    text += " ${} \\pm " + number_latex(cell.half) + star + "$";
  else if (cell.is_worse)
    text += " $" + star + "$";
  return text;
}

std::string spanning(std::size_t columns, const std::string& text) {
  return "\\multicolumn{" + std::to_string(2 * columns) + "}{c}{" + latex_text(text) + "}";
}

// Returns a rule below grid columns `from` to `end` - 1, of two LaTeX columns each.
std::string rule_below(const ResultGrid& grid, std::size_t from, std::size_t end) {
  const std::size_t left = grid.row_keys.size();
  return "\\cmidrule(l){" + std::to_string(left + 2 * from + 1) + "-" + std::to_string(left + 2 * end) + "}";
}

std::string head_of(const ResultGrid& grid) {
  const std::string blanks = [&] {
    std::string text;
    for (std::size_t k = 0; k < grid.row_keys.size(); ++k) text += "& ";
    return text;
  }();
  std::string head;
  for (std::size_t h = 0; h + 1 < grid.heads.size(); ++h) {
    std::string line, rules;
    for (std::size_t from = 0; from < grid.columns.size();) {
      std::size_t end = from + 1;
      while (end < grid.columns.size() && shares_head(grid, h, from, end)) ++end;
      const std::string& value = grid.columns[from][h];
      line += (line.empty() ? "" : " & ") + spanning(end - from, grid.heads[h] + " " + (value.empty() ? "--" : value));
      rules += rule_below(grid, from, end);
      from = end;
    }
    head += blanks + line + " \\\\\n" + rules + "\n";
  }
  if (!grid.heads.back().empty())
    head +=
        blanks + spanning(grid.columns.size(), grid.heads.back()) + " \\\\\n" + rule_below(grid, 0, grid.columns.size()) + "\n";
  for (const auto& key : grid.row_keys) head += latex_text(key) + " & ";
  for (std::size_t c = 0; c < grid.columns.size(); ++c)
    head += (c > 0 ? " & " : "") + spanning(1, grid.columns[c].back().empty() ? "--" : grid.columns[c].back());
  return head + " \\\\\n";
}

// Turns "test_accuracy" into "test-accuracy".
std::string as_label(std::string metric) {
  std::ranges::replace(metric, '_', '-');
  return metric;
}

std::string tabular(const ResultGrid& grid) {
  std::string format, body;
  for (std::size_t k = 0; k < grid.row_keys.size(); ++k) format += has_numbers(grid, k) ? 'r' : 'l';
  for (std::size_t c = 0; c < grid.columns.size(); ++c) format += "r@{}l";
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    for (const auto& value : grid.rows[r]) body += latex_text(value) + " & ";
    for (std::size_t c = 0; c < grid.columns.size(); ++c) body += (c > 0 ? " & " : "") + cell_latex(grid.cells[c][r]);
    body += " \\\\\n";
  }
  return "\\begin{tabular}{@{}" + format + "@{}}\n\\toprule\n" + head_of(grid) + "\\midrule\n" + body +
         "\\bottomrule\n\\end{tabular}\n";
}

std::string caption(const SweepResults& sweep, const ResultGrid& grid) {
  std::string text = sweep.experiment.title.empty() ? sweep.experiment.name : sweep.experiment.title;
  if (!grid.metric.empty()) text += ": " + title_of_metric(grid.metric);
  if (!text.empty() && text.back() != '.') text += '.';
  std::string shared;
  for (const auto& [key, value, is_default] : fixed_settings(sweep))
    if (!is_default || std::ranges::find(kAlwaysSaid, key) != std::end(kAlwaysSaid))
      shared += (shared.empty() ? " In all cells: " : ", ") + key + " " + value;
  text = latex_text(text + " " + grid.note + (grid.settings.empty() ? "" : " " + grid.settings) + shared +
                    (shared.empty() ? "" : "."));
  constexpr std::string_view kSign = "±";
  for (std::size_t at = 0; (at = text.find(kSign, at)) != std::string::npos;) text.replace(at, kSign.size(), "$\\pm$");
  return text;
}

std::string table_of(const SweepResults& sweep, const ResultGrid& grid, const std::string& label) {
  std::string text = "\\begin{table}\n\\centering\\footnotesize\\setlength{\\tabcolsep}{4pt}\n\\caption{" + caption(sweep, grid) +
                     "}\n\\label{tab:fedstride-" + label + "}\n\\vspace{1ex}\n";
  const auto parts = split_columns(grid, kMaxColumns);
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? "\\\\[1ex]\n" : "") + tabular(parts[i]);
  return text + "\\end{table}\n";
}

}  // namespace

std::string latex_text(std::string_view text) {
  constexpr std::string_view kSigns = "\\~^<>|\"\n\t{}$&#_%";
  constexpr const char* kCodes[] = {"\\textbackslash{}",
                                    "\\textasciitilde{}",
                                    "\\textasciicircum{}",
                                    "\\textless{}",
                                    "\\textgreater{}",
                                    "\\textbar{}",
                                    "''",
                                    " ",
                                    " ",
                                    "\\{",
                                    "\\}",
                                    "\\$",
                                    "\\&",
                                    "\\#",
                                    "\\_",
                                    "\\%"};
  std::string result;
  for (const char c : clean_text(text))
    if (const auto place = kSigns.find(c); place != kSigns.npos)
      result += kCodes[place];
    else
      result += c;
  return result;
}

std::string latex_tables(const std::vector<SweepResults>& sweeps) {
  std::string text =
      "% Made by fedstride report --latex. In the preamble: \\usepackage{booktabs}; here: \\input{FILE}.\n"
      "% Figures: \\includegraphics[width=\\linewidth]{FIGURE.pdf}, from the folder beside the page.\n";
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    const auto grids = result_grids(sweeps[i]);
    if (grids.empty()) text += "\n% " + latex_text(sweeps[i].experiment.name) + ": no finished cell\n";
    for (const ResultGrid& grid : grids)
      text += "\n" + table_of(sweeps[i], grid, std::to_string(i + 1) + (grid.metric.empty() ? "" : "-" + as_label(grid.metric)));
  }
  return text;
}

}  // namespace fedstride
