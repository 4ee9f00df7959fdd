#include "cli/terminal/results.hpp"

#include <algorithm>
#include <cstdio>

#include "cli/terminal/columns.hpp"
#include "core/text.hpp"
#include "sweep/report/result_grid.hpp"

namespace fedstride {

void print_results(const SweepResults& results) {
  const std::size_t width = std::max<std::size_t>(terminal_columns(100), 40);
  const auto [table, sentences] = results_text(results, width);
  std::fputs(table.c_str(), stdout);
  for (const auto& sentence : sentences) std::printf("%s\n", wrapped(one_line(sentence), width, 2, 0).c_str());
}

}  // namespace fedstride
