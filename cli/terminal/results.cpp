#include "cli/terminal/results.hpp"

#include <algorithm>
#include <cstdio>

#include "cli/flags.hpp"
#include "cli/terminal/columns.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "sweep/report/result_grid.hpp"

namespace fedstride {

void add_by_flag(CLI::App& command, std::string& by) {
  add_choice_flag(command, "--by", by, choices_of<Cost>(),
                  "what figures over rounds are plotted against, and what tables count until the target is reached: rounds, "
                  "virtual seconds or "
                  "megabytes");
}

void measure_by(const std::string& by, SweepResults& results) {
  const auto cost = find_choice<Cost>(by);
  if (!cost) return;
  const std::string metric(cost_words(*cost).metric);
  const bool is_known = metric.empty() || std::ranges::any_of(results.cells, [&](const CellResult& cell) {
                          return cell.status == "finished" && cell.numbers.contains(metric);
                        });
  if (!is_known)
    throw usage_error("by is '" + by + "'; no finished cell of '" + results.folder.string() + "' has " + metric +
                      (*cost == Cost::time ? " (--devices)" : ""));
  results.experiment.by = *cost;
}

void print_results(const SweepResults& results) {
  const std::size_t width = std::max<std::size_t>(terminal_columns(100), 40);
  const auto [table, sentences] = results_text(results, width);
  std::fputs(table.c_str(), stdout);
  for (const auto& sentence : sentences) std::printf("%s\n", wrapped(one_line(sentence), width, 2, 0).c_str());
}

}  // namespace fedstride
