#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sweep/results/comparison.hpp"

namespace fedstride {

/// A cell of a table. All cells of a column have the same number of decimals, so they align.
struct GridCell {
  std::string mean = {};    ///< "0.920"; empty: no number
  std::string half = {};    ///< "0.025", half the width of the 95 % interval; empty: fewer than two seeds
  bool is_best = false;     ///< to be marked as the best in its column
  bool is_worse = false;    ///< differs from the best (p < 0.05)
  std::string detail = {};  ///< the exact numbers
};

/// A table of results as text. If both methods and conditions vary, there is one grid for each metric, with a row for each method
/// and a column for each condition; otherwise, each row is a method or a condition, and each column a metric.
struct ResultGrid {
  std::string metric = {};                             ///< empty: each column has its own metric
  std::vector<std::string> row_keys = {};              ///< headings of the row labels
  std::vector<std::vector<std::string>> rows = {};     ///< row labels
  std::vector<std::string> heads = {};                 ///< names of header lines: keys of conditions; a single "" for metrics
  std::vector<std::vector<std::string>> columns = {};  ///< each column's text in each header line
  std::vector<std::vector<GridCell>> cells = {};       ///< [column][row]
  std::string note = {};                               ///< how to read the grid; "Bold:" explains the mark of the best
  std::string settings = {};                           ///< settings of methods and conditions that the table does not show
};
std::vector<ResultGrid> result_grids(const SweepResults& results);

/// True if two columns share this header line and the lines above it.
bool shares_head(const ResultGrid& grid, std::size_t line, std::size_t column, std::size_t other);
/// True if all row labels for this key are numbers.
bool has_numbers(const ResultGrid& grid, std::size_t key);

/// Splits the grid into grids of at most `most` columns, for narrow media.
std::vector<ResultGrid> split_columns(const ResultGrid& grid, std::size_t most);

/// Returns a sentence for each condition, with intervals ("Adam has the highest test accuracy, 0.93 (...)"), preceded by an
/// overview if there are several conditions. Empty for commands other than run.
std::vector<std::string> result_sentences(const SweepResults& results);

/// Returns the grids and sentences as HTML.
std::string results_html(const SweepResults& results);
/// The main grid as lines of at most `width` characters, if its row labels leave room, followed by its note and the sentence
/// about the winner.
struct ResultsText {
  std::string table = {};
  std::vector<std::string> sentences = {};
};
ResultsText results_text(const SweepResults& results, std::size_t width);

}  // namespace fedstride
