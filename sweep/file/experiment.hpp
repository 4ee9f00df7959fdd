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

/// The table [tune]: the keys whose values compete, and the metric that ranks the values. The best value is chosen on the
/// validation split, or on the test set if the reproduced paper did so. Epsilon does not include the cost of a choice made on
/// private data.
struct Tuning {
  std::vector<std::string> keys = {};
  std::string on = "validation";  ///< "validation" or "test"
  /// "accuracy" or "r2" (highest), "loss" or "..._to_target" (lowest); replaced by "r2" if models have no accuracy
  std::string metric = "accuracy";
  std::string why = {};  ///< reason for using the test set
  /// Returns the metric's name in the results, such as "test_accuracy".
  std::string metric_name() const { return on + "_" + metric; }
};

/// The table [table]: the swept keys that name the rows of result tables, and the keys that name their columns. A key in neither
/// list is placed according to its kind (python/fedstride_report/comparison.py).
struct TableRequest {
  std::vector<std::string> rows = {};
  std::vector<std::string> columns = {};
};

/// A number from a sweep's results: the mean over seeds of `metric` for the configuration that `where` selects.
struct ResultQuantity {
  std::string metric;
  std::map<std::string, std::string> where = {};  ///< swept key to value as text ("0.0" and "0" are the same number)
  std::string pick = {};  ///< how to select among several configurations: best, second, worst, mean, lowest, highest
  /// `pick` compares results at these values ("the learning rate that was best at noise 2"); empty: at each configuration's own
  /// values.
  std::map<std::string, std::string> pick_where = {};
  std::optional<std::uint32_t> round = {};   ///< empty: after the last round
  std::optional<std::uint32_t> client = {};  ///< empty: the whole federation
  std::vector<ResultQuantity> minus = {};    ///< at most one quantity to subtract
  std::vector<ResultQuantity> over = {};     ///< at most one quantity to divide by (after `minus`)
};

/// One [[expect]]: a claim to test against the results.
struct Expectation {
  std::string claim;
  ResultQuantity value;
  std::string relation;                      ///< "above", "below" or "equals"
  std::optional<double> number = {};         ///< the right side, if it is a number
  std::optional<ResultQuantity> other = {};  ///< the right side, if it is another quantity
  double within = 0;                         ///< tolerance of "equals"
  double margin = 0;                         ///< "above" and "below" must hold by more than this
  std::string scale = "full";                ///< the scale at which the claim is checked: "full", "quick" or "both"
  std::string reason = {};                   ///< known reason for a failure, shown if the claim fails
};

/// The kinds of [[figure]]; python/fedstride_report/figures.py draws each.
inline constexpr std::string_view kFigureKinds[] = {
    "lines",         "accuracy-by-round", "loss-by-round",    "accuracy-by-key",     "accuracy-by-rate", "step-sizes",
    "client-spread", "rejected-share",    "epsilon-by-round", "accuracy-by-epsilon", "partition"};

/// One [[figure]], for example `y` against `x`.
struct FigureRequest {
  std::string kind;
  std::string title = {};
  std::string x = {};
  std::string y = {};
  std::vector<std::string> lines = {};  ///< swept keys that distinguish lines; empty: all keys that vary
  std::map<std::string, std::string> where = {};
  std::vector<int> ranks = {1};  ///< ranks of a tuned grid to draw
  std::optional<bool> log_x = {};
  std::optional<bool> log_y = {};
  std::optional<Cost> by = {};  ///< cost on the x axis of figures by round; empty: Experiment::by
};

/// One axis of the grid. It has several keys if lists are zipped. Each value is a group of settings.
struct Axis {
  struct Value {
    Settings settings;                ///< settings of the axis's keys or, for [variant.NAME], of all keys in that table
    std::vector<std::string> labels;  ///< one per key: its value as text; for a variant, its name
  };
  std::vector<std::string> keys;
  std::vector<Value> values = {};
  /// Conditions from [when.KEY.VALUE], key to value as text; the axis applies to cells that meet all of them.
  std::map<std::string, std::string> when = {};
};

/// An experiment file at one scale: the settings common to all cells, the axes of the grid, the claims and the figures.
///
///   top level             keys of a run, one value each
///   [experiment]          title, source, claim, note, command (default "run"; for another subcommand with --json, its
///                         flags are the keys and its numbers are the results)
///   [sweep]               key = [values]; zip = [["a", "b"]]: lists that vary together; exclude = [{a = 1, b = "x"}]
///   [when.KEY.VALUE]      keys, each with a value or a list, for cells in which KEY is VALUE
///   [variant.NAME]        a named group of keys, with values or lists: one value of the axis "variant"
///   [target]              metric; at: the level that defines "time to accuracy"; by: rounds, time or bytes
///   [tune]                keys, on, metric, why
///   [table]               rows, columns: keys of methods and of conditions
///   [[expect]] [[figure]]
///   [quick] [full]        changes at that scale: keys, and [quick.sweep], [quick.when.KEY.VALUE],
///                         [quick.variant.NAME], whose lists replace the file's lists for the same keys
struct Experiment {
  std::string name;       ///< the folder's name for DIR/experiment.toml, otherwise the file's name without .toml
  std::string file;       ///< the path as given
  std::string text;       ///< the file's contents
  bool has_code = false;  ///< this process has the functions that cells name in the setting `code`
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
  Cost by = Cost::rounds;  ///< the measure of progress in tables and in figures by round
  std::vector<Expectation> expectations = {};
  std::vector<FigureRequest> figures = {};
  std::vector<std::string> replaced = {};  ///< notes on lists in [sweep] that lack the value set on the command line
};

/// Reads an experiment file at a scale, "quick" or "full". `fixed`, from the command line, overrides the file; a fixed key is no
/// longer an axis. Throws Error: usage, naming file and line; failure if the file cannot be read.
Experiment read_experiment(const std::string& path, const std::string& scale, const Settings& fixed = {});
Experiment parse_experiment(const std::string& text, const std::string& path, const std::string& scale,
                            const Settings& fixed = {});

/// True if the values are equal as text or are the same number, such as "0.0" and "0".
bool same_value(std::string_view a, std::string_view b);
/// Returns the canonical spelling of a value, the same for all its spellings.
std::string canonical_value(std::string_view text);

/// One point of the grid.
struct Cell {
  std::vector<std::pair<std::string, std::string>> point = {};  ///< swept keys and values as text, in the order of the axes
  Settings settings = {};                                       ///< settings of all keys
  std::string key = {};                                         ///< 16 hexadecimal digits, see cell_keys; names the cell's folder
  std::string configuration = {};  ///< like `key`, but without the seed; results are means over the cells that share it
  std::string command = {};        ///< reproduces the cell: "fedstride run --dataset ..."
  std::string value_of(std::string_view wanted) const;  ///< from `point`; "" if the cell has no such key
};

/// Returns the cell's point as text, such as "random-fraction 0, optimizer sgd, seed 1"; "the only cell" for a grid without axes.
std::string point_text(const Cell& cell);

/// Returns the number of cells in the grid. Throws Error (usage) if there are none or more than a million, or if an exclusion
/// matches no cell.
std::size_t cell_count(const Experiment& experiment);

/// Hashes of the cells' inputs (data sets and files) by name: SHA-256, or an HMAC under the sweep's key for the data of private
/// cells. They are stored with a sweep, so cell keys can be computed on a machine without the data.
using InputHashes = std::map<std::string, std::string>;

/// Returns all cells of the grid, the last axis varying fastest, with key, configuration and command filled in. Points that yield
/// the same run share a key and a folder. Throws Error: usage for an invalid cell, naming its point, and like cell_count; failure
/// for data that cannot be read. Call check_cells (sweep/cells/grid.hpp) first to report all invalid cells at once; the overload
/// without inputs does so itself. Uses the hashes already in `inputs` and adds new ones. Keys of private cells are reproducible
/// only with the key in `sweep_key` (keep_sweep_key); without that file, they are provisional.
std::vector<Cell> expand(const Experiment& experiment, InputHashes& inputs, const std::filesystem::path& sweep_key = {});
std::vector<Cell> expand(const Experiment& experiment);

}  // namespace fedstride
