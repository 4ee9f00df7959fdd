#include <cmath>
#include <cstdio>

#include "core/error.hpp"
#include "core/text.hpp"
#include "report/html.hpp"
#include "report/sections.hpp"
#include "run/results.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxRemarks = 20;

std::string remark(const std::string& text) { return "<p class=\"note\">" + escaped(text) + "</p>\n"; }

double number_in(const CellResult& cell, std::string_view name) {
  const auto found = cell.numbers.find(std::string(name));
  return found == cell.numbers.end() ? NAN : found->second;
}

std::string seconds_text(double seconds) {
  char text[48];
  std::snprintf(text, sizeof text, seconds < 10 ? "%.2f s" : "%.0f s", seconds);
  return text;
}

std::string idle_remark(const CellResult& cell, double idle) {
  const auto rounds = static_cast<std::uint64_t>(number_in(cell, "rounds_done"));
  std::string text = cell.cell.point.empty() ? "" : point_text(cell.cell) + ": ";
  text += "in " + number_text(idle) + " of " + counted(rounds, "round") + " no step of anybody was kept";
  try {
    return text + "; " + idle_rounds_advice(resolve(cell.cell.settings)) + ".";
  } catch (const Error&) {  // settings of another version
    return text + ".";
  }
}

}  // namespace

std::string remarks(const SweepResults& sweep) {
  if (sweep.experiment.command != "run") return {};
  std::string html;
  std::size_t idle_cells = 0;
  double training = 0, evaluation = 0;
  bool is_timed = false;
  for (const CellResult& cell : sweep.cells) {
    if (const double idle = number_in(cell, "idle_rounds"); idle > 0 && ++idle_cells <= kMaxRemarks)
      html += remark(idle_remark(cell, idle));
    const double seconds = number_in(cell, "seconds"), beside = number_in(cell, "evaluation_seconds");
    if (!std::isfinite(seconds) || !std::isfinite(beside)) continue;
    is_timed = true;
    training += seconds;
    evaluation += beside;
  }
  if (idle_cells > kMaxRemarks)
    html += remark("So do " + counted(idle_cells - kMaxRemarks, "more cell") + "; idle_rounds in cells.csv has all.");
  if (is_timed)
    html += remark("Time: training and averaging took " + seconds_text(training) + ", evaluation beside it " +
                   seconds_text(evaluation) + (sweep.cells.size() > 1 ? ", all cells together" : "") +
                   ". Wherever this page gives the time of a run, it is that of training and averaging.");
  return html;
}

}  // namespace fedstride
