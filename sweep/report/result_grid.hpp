#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sweep/results/comparison.hpp"

namespace fedstride {

/// The cells of a column have the same number of decimals, so that they align.
struct GridCell {
  std::string mean = {};    ///< "0.920"; empty: no number
  std::string half = {};    ///< "0.025", half the 95 % interval; empty: fewer than two seeds
  bool is_best = false;     ///< has the best mean of its column
  bool is_worse = false;    ///< differs from the best (p < 0.05)
  std::string detail = {};  ///< the exact numbers
};

/// A table of results as texts. If methods and conditions vary, a row is a method, a column is a condition, and there is one grid
/// for each metric; otherwise a row is a method or a condition, and a column is a metric.
struct ResultGrid {
  std::string metric = {};                             ///< empty: each column has its own
  std::vector<std::string> row_keys = {};              ///< heads of the rows' labels
  std::vector<std::vector<std::string>> rows = {};     ///< labels
  std::vector<std::string> heads = {};                 ///< names of the header's lines: keys of conditions; one "" for metrics
  std::vector<std::vector<std::string>> columns = {};  ///< for each column, its text in each line of the header
  std::vector<std::vector<GridCell>> cells = {};       ///< [column][row]
  std::string note = {};                               ///< how to read it; "Bold" is the best
  std::string settings = {};                           ///< of methods and conditions, beyond those in the table
};
std::vector<ResultGrid> result_grids(const SweepResults& results);

/// True if two columns share this line of the header and the lines above.
bool shares_head(const ResultGrid& grid, std::size_t line, std::size_t column, std::size_t other);
/// True if all labels of rows for this key are numbers.
bool has_numbers(const ResultGrid& grid, std::size_t key);

/// The grid split into grids of at most `most` columns, for narrow media.
std::vector<ResultGrid> split_columns(const ResultGrid& grid, std::size_t most);

/// "Adam has the highest test accuracy, 0.93 (...)": a sentence for each condition, with intervals; after an overview if there
/// are several. Empty for commands other than run.
std::vector<std::string> result_sentences(const SweepResults& results);

/// The grids and sentences as HTML.
std::string results_html(const SweepResults& results);
/// The main grid as lines of at most `width` characters, if its row labels leave room, and the text below it: its note, and the
/// winner.
struct ResultsText {
  std::string table = {};
  std::vector<std::string> sentences = {};
};
ResultsText results_text(const SweepResults& results, std::size_t width);

}  // namespace fedstride
