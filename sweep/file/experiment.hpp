#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/settings/configuration.hpp"
#include "sweep/file/cost.hpp"

namespace fedstride {

/// The table [tune]: the keys whose values compete, and the metric that ranks them. The best is chosen on the validation split,
/// or on the test set if the source did so; choosing on private data is not charged.
struct Tuning {
  std::vector<std::string> keys = {};
  std::string on = "validation";  ///< "validation" or "test"
  /// "accuracy" or "r2" (highest), "loss" or "..._to_target" (lowest); without an accuracy: r2
  std::string metric = "accuracy";
  std::string why = {};  ///< reason for using the test set
  /// "test_accuracy": the metric's name in the results.
  std::string metric_name() const { return on + "_" + metric; }
};

/// The table [table]: the swept keys that name the rows of result tables and those that name their columns. A key in neither list
/// goes with its kind (sweep/results/comparison.hpp).
struct TableRequest {
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
};

/// A number from a sweep's results: the mean over seeds of `metric` for the configuration that `where` selects.
struct ResultQuantity {
  std::string metric;
  std::map<std::string, std::string> where = {};  ///< swept key to value as text ("0.0" and "0" are the same number)
  std::string pick = {};  ///< choice among several configurations: best, second, worst, mean, lowest, highest
  /// `pick` compares results at these values ("the rate that was best at noise 2"); empty: at the configuration's own values.
  std::map<std::string, std::string> pick_where = {};
  std::optional<std::uint32_t> round = {};   ///< empty: after the last
  std::optional<std::uint32_t> client = {};  ///< empty: the federation
  std::vector<ResultQuantity> minus = {};    ///< at most one, subtracted
  std::vector<ResultQuantity> over = {};     ///< at most one, divided by (after `minus`)
};

/// One [[expect]]: a claim to test against the results.
struct Expectation {
  std::string claim;
  ResultQuantity value;
  std::string relation;                      ///< "above", "below" or "equals"
  std::optional<double> number = {};         ///< the right side: a number, or
  std::optional<ResultQuantity> other = {};  ///< another quantity
  double within = 0;                         ///< tolerance of "equals"
  double margin = 0;                         ///< "above" and "below" must hold by more than this
  std::string scale = "full";                ///< "full", "quick" or "both": the scale at which it is checked
  std::string reason = {};                   ///< known reason for a failure; shown with it
};

/// The kinds of [[figure]]; sweep/report/figures.cpp implements each.
inline constexpr std::string_view kFigureKinds[] = {
    "lines",         "accuracy-by-round", "loss-by-round",    "accuracy-by-key",     "accuracy-by-rate", "step-sizes",
    "client-spread", "rejected-share",    "epsilon-by-round", "accuracy-by-epsilon", "partition",        "time"};

/// One [[figure]]: lines of `y` against `x`.
struct FigureRequest {
  std::string kind;
  std::string title = {};
  std::string x = {};
  std::string y = {};
  std::vector<std::string> lines = {};  ///< swept keys that distinguish lines; empty: all that vary
  std::map<std::string, std::string> where = {};
  std::vector<int> ranks = {1};  ///< which ranks of a tuned grid are drawn
  std::optional<bool> log_x = {};
  std::optional<bool> log_y = {};
  std::optional<Cost> by = {};  ///< for figures by round; empty: as for the experiment
};

/// One axis of the grid, with several keys for zipped lists. A value is a group of settings.
struct Axis {
  struct Value {
    Settings settings;                ///< of the axis' keys; for [variant.NAME] all of its keys
    std::vector<std::string> labels;  ///< one per key: the value as text, or the variant's name
  };
  std::vector<std::string> keys;
  std::vector<Value> values = {};
  /// Conditions, key to text: the axis applies to cells that meet all of them. From [when.KEY.VALUE].
  std::map<std::string, std::string> when = {};
};

/// An experiment file at one scale: the settings common to all cells, the axes of the grid, claims and figures.
///
///   top level             keys of a run, one value each
///   [experiment]          title, source, claim, note, command (default "run"; or another subcommand with --json: its
///                         flags are then the keys, its numbers the results)
///   [sweep]               key = [values]; zip = [["a", "b"]]: lists that vary together; exclude = [{a = 1, b = "x"}]
///   [when.KEY.VALUE]      keys, with a value or a list, for cells in which KEY is VALUE
///   [variant.NAME]        a named group of keys, with values or lists: one value of the axis "variant"
///   [target]              metric, at: the level that "time to accuracy" is taken at; by: rounds, time or bytes
///   [tune]                keys, on, metric, why
///   [table]               rows, columns: keys of methods and of conditions
///   [[expect]] [[figure]]
///   [quick] [full]        differences at that scale: keys, and [quick.sweep], [quick.when.KEY.VALUE],
///                         [quick.variant.NAME], whose lists replace those of the same key
struct Experiment {
  std::string name;  ///< the folder's name for DIR/experiment.toml, otherwise the file's without .toml
  std::string file;  ///< path as given
  std::string text;  ///< the file's contents
  std::string scale;
  std::string command = "run";
  std::string title;
  std::string source = {};
  std::string claim = {};
  std::string note = {};
  Settings settings;
  std::vector<Axis> axes;  ///< in the file's order; "variant" first, "seed" last
  std::vector<std::map<std::string, std::string>> exclude = {};
  Tuning tuning = {};
  TableRequest table = {};
  Target target = {};
  Cost by = Cost::rounds;  ///< the measure of progress in figures by round and tables
  std::vector<Expectation> expectations = {};
  std::vector<FigureRequest> figures = {};
  std::vector<std::string> replaced = {};  ///< notes on lists of [sweep] that lack the command line's value
};

/// Reads a file at a scale, "quick" or "full". `fixed` comes from the command line and overrides the file; a key fixed there is
/// no longer an axis. Throws Error: usage, naming file and line; failure if the file cannot be read.
Experiment read_experiment(const std::string& path, const std::string& scale, const Settings& fixed = {});
Experiment parse_experiment(const std::string& text, const std::string& path, const std::string& scale,
                            const Settings& fixed = {});

/// Equal as text, or the same number: "0.0" and "0".
bool same_value(std::string_view a, std::string_view b);
/// One spelling for all spellings of the same value.
std::string canonical_value(std::string_view text);

/// One point of the grid.
struct Cell {
  std::vector<std::pair<std::string, std::string>> point = {};  ///< swept keys and values as text, in the order of the axes
  Settings settings = {};                                       ///< of all keys
  std::string key = {};                                         ///< 16 hexadecimal digits, see cell_keys; names the cell's folder
  std::string configuration = {};  ///< the same for the run and its point without the seed; results are means over these
  std::string command = {};        ///< reproduces the cell: "fedstride run --dataset ..."
  std::string value_of(std::string_view wanted) const;  ///< from `point`; "" if the cell has no such key
};

/// "random-fraction 0, optimizer sgd, seed 1"; "the only cell" for a grid without axes.
std::string point_text(const Cell& cell);

/// The number of cells of the grid. Throws Error (usage) for more than a million, for none, and for an exclusion that matches
/// no cell.
std::size_t cell_count(const Experiment& experiment);

/// Hashes of the cells' inputs (data sets and files) by name: SHA-256, or an HMAC under the sweep's key for the data of private
/// cells. Stored with a sweep, so that cell keys can be computed on a machine without the data.
using InputHashes = std::map<std::string, std::string>;

/// All cells of the grid, the last axis varying fastest, with key, configuration and command filled in. Points that give the same
/// run have the same key and share its folder. Throws Error: usage for an invalid cell, naming its point, and like cell_count;
/// failure for data that cannot be read. Call check_cells (sweep/cells/grid.hpp) first to report all invalid cells at once; the
/// overload without inputs does so itself. Takes known hashes from `inputs` and adds new ones. Keys of private cells are
/// reproducible only with the key in `sweep_key` (keep_sweep_key); without that file they are provisional.
std::vector<Cell> expand(const Experiment& experiment, InputHashes& inputs, const std::filesystem::path& sweep_key = {});
std::vector<Cell> expand(const Experiment& experiment);

}  // namespace fedstride
