#include <cmath>
#include <cstdio>

#include "core/error.hpp"
#include "core/text.hpp"
#include "sim/run/results.hpp"
#include "sweep/report/html.hpp"
#include "sweep/report/sections.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxRemarks = 20;

std::string remark(const std::string& text) { return "<p class=\"note\">" + escaped(text) + "</p>\n"; }

std::string seconds_text(double seconds) {
  char text[48];
  std::snprintf(text, sizeof text, seconds < 10 ? "%.2f s" : "%.0f s", seconds);
  return text;
}

std::string idle_remark(const CellResult& cell, double idle) {
  const auto rounds = static_cast<std::uint64_t>(cell.numbers.of("rounds_done"));
  std::string text = cell.cell.point.empty() ? "" : point_text(cell.cell) + ": ";
  text += "in " + number_text(idle) + " of " + counted(rounds, "round") + " no client kept a step";
  try {
    return text + "; " + idle_rounds_advice(resolve_unchecked(cell.cell.settings)) + ".";
  } catch (const Error&) {  // settings from another version
    return text + ".";
  }
}

}  // namespace

std::string remarks(const SweepResults& sweep) {
  if (sweep.experiment.command != "run") return {};
  std::string html;
  std::size_t idle_cells = 0;
  for (const CellResult& cell : sweep.cells)
    if (const double idle = cell.numbers.of("idle_rounds"); idle > 0 && ++idle_cells <= kMaxRemarks)
      html += remark(idle_remark(cell, idle));
  if (idle_cells > kMaxRemarks)
    html += remark("The same holds for " + counted(idle_cells - kMaxRemarks, "more cell") + "; see idle_rounds in cells.csv.");
  return html;
}

std::string times(const SweepResults& sweep) {
  double training = 0, evaluation = 0;
  bool is_timed = false;
  for (const CellResult& cell : sweep.cells) {
    const double seconds = cell.numbers.of("seconds"), beside = cell.numbers.of("evaluation_seconds");
    if (!std::isfinite(seconds) || !std::isfinite(beside)) continue;
    is_timed = true;
    training += seconds;
    evaluation += beside;
  }
  return !is_timed ? ""
                   : remark("Training and averaging took " + seconds_text(training) + ", evaluation " + seconds_text(evaluation) +
                            (sweep.cells.size() > 1 ? ", over all cells" : "") + ".");
}

}  // namespace fedstride
