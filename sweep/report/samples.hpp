#pragma once

#include <string>
#include <vector>

#include "sweep/report/figures.hpp"

namespace fedstride {

/// A row of the summary to draw in a figure.
struct Sample {
  const SummaryRow* row = nullptr;
  double x = 0;
  std::string slot;            ///< round, or value of the key; a line has one sample per slot
  FigureData::Point identity;  ///< distinguishes the sample's line from others
  std::string text;            ///< tooltip
  bool is_reference = false;   ///< whether its configuration lacks the key
};

/// True if a row meets a request's conditions and, unless `all_ranks` is true, has one of the request's ranks.
bool is_wanted(const SummaryRow& row, const FigureRequest& request, bool all_ranks);

/// Returns the identity of a configuration's line: its point without `left_out`, and its rank if several ranks are drawn.
FigureData::Point identity_of(const FigureData& data, const SummaryRow& row, const FigureRequest& request,
                              const std::vector<std::string>& left_out);

/// Returns a tooltip: "variant adadp, random-fraction 0.33\nround: 10\ntest accuracy (share of examples): 0.4421\n95 %: 0.43
/// to 0.45, n = 3"
std::string point_text(const SummaryRow& row, const std::string& x_label, const std::string& x);

/// Returns an empty plot of a metric, with labels and bounds.
Plot metric_plot(const std::string& x_label, const std::string& metric, const FigureRequest& request);

/// True if all values are positive and span a range so wide that a linear axis would hide the small ones.
bool spans_decades(const std::vector<double>& values);

/// The contents of a figure, before its samples are grouped into panels.
struct FigureDraft {
  std::string title;    ///< used unless the request has a title
  std::string missing;  ///< describes what all cells lack if `samples` is empty: "test_loss by round"
  std::vector<Sample> samples = {};
  Plot model = {};                           ///< template for every panel
  std::vector<std::string> panel_keys = {};  ///< keys by which the figure is always split into panels
  bool is_chosen = true;                     ///< whether the samples are limited to the best tuned values
  std::string before = {}, after = {};       ///< text before and after the standard caption
};

/// Draws the samples as lines named by the keys that vary (or by the request's keys, plus as many others as needed to distinguish
/// the lines). Splits the figure into panels by `panel_keys`, or by another key if there are more than kMaxLines lines. The
/// caption states the number of seeds, what was tuned and on which data, and what the figure omits.
Figure figure_of(const FigureData& data, const FigureRequest& request, FigureDraft draft);

}  // namespace fedstride
