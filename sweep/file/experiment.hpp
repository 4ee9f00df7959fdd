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

#include "run/configuration.hpp"

namespace fedstride {

/// The table [tune]: the keys whose values compete with each other, and the results that decide. The best is chosen on the
/// validation split, or on the test set if the source did so; no epsilon is charged for a choice on private data.
struct Tuning {
  std::vector<std::string> keys = {};
  std::string on = "validation";    ///< "validation" or "test"
  std::string metric = "accuracy";  ///< "accuracy" (highest) or "loss" (lowest)
  std::string why = {};             ///< why on the test set
  /// "test_accuracy": the metric's name in the results.
  std::string metric_name() const { return on + "_" + metric; }
};

/// A number out of a sweep's results: the mean over seeds of `metric` for the configuration that `where` leaves.
struct ResultQuantity {
  std::string metric;
  std::map<std::string, std::string> where = {};  ///< swept key to value, both as text ("0.0" and "0" are the same number)
  std::string pick = {};  ///< choice among several configurations: best, second, worst, mean, lowest, highest
  /// `pick` compares the results at these values instead ("the rate that was best at noise 2"); empty: at the configuration's
  /// own values.
  std::map<std::string, std::string> pick_where = {};
  std::optional<std::uint32_t> round = {};  ///< empty: the last
  std::vector<ResultQuantity> minus = {};   ///< at most one, subtracted
  std::vector<ResultQuantity> over = {};    ///< at most one, divided by (after `minus`)
};

/// One [[expect]]: a claim that the results confirm or not.
struct Expectation {
  std::string claim;
  ResultQuantity value;
  std::string relation;                      ///< "above", "below" or "equals"
  std::optional<double> number = {};         ///< the right side: a number, or
  std::optional<ResultQuantity> other = {};  ///< another quantity
  double within = 0;                         ///< of "equals"
  double margin = 0;                         ///< of "above" and "below": by more than this
  std::string scale = "full";                ///< "full", "quick" or "both": the scale at which it is checked
  std::string reason = {};                   ///< why it does not hold, as tested; shown beside a failure
};

/// The kinds of a [[figure]]; report/ has one entry for each.
inline constexpr std::string_view kFigureKinds[] = {
    "lines",         "accuracy-by-round", "loss-by-round",    "accuracy-by-key",     "accuracy-by-rate", "step-sizes",
    "client-spread", "rejected-share",    "epsilon-by-round", "accuracy-by-epsilon", "partition",        "time"};

/// One [[figure]]: lines of `y` against `x`.
struct FigureRequest {
  std::string kind;
  std::string title = {};
  std::string x = {};
  std::string y = {};
  std::vector<std::string> lines = {};  ///< swept keys that tell lines apart; empty: all that vary
  std::map<std::string, std::string> where = {};
  std::vector<int> ranks = {1};  ///< of a tuned grid: which places are drawn
  std::optional<bool> log_x = {};
  std::optional<bool> log_y = {};
};

/// One axis of the grid, with several keys if lists are tied together. A value is a group of settings under one label.
struct Axis {
  struct Value {
    Settings settings;                ///< of this key or these keys; for [variant.NAME] all of its keys
    std::vector<std::string> labels;  ///< one for each of `keys`: the value as text, or the variant's name
  };
  std::vector<std::string> keys;
  std::vector<Value> values = {};
  /// Conditions, key to text: the axis is there for cells with all of these. Made from [when.KEY.VALUE].
  std::map<std::string, std::string> when = {};
};

/// An experiment file at one scale: the common settings of all cells, the axes of the grid, the claims and figures.
///
///   top level             keys of a run, one value each
///   [experiment]          title, source, claim, command (default "run"; else any other subcommand that knows --json:
///                         its flags are then the keys, its numbers the results)
///   [sweep]               key = [values]; zip = [["a", "b"]]: lists tied together; exclude = [{a = 1, b = "x"}]
///   [when.KEY.VALUE]      keys, with a value or a list, for cells in which KEY has VALUE
///   [variant.NAME]        a bundle of keys under a name, with values or lists: one value of the axis "variant"
///   [tune]                keys, on, metric, why
///   [[expect]] [[figure]]
///   [quick] [full]        differences at that scale: keys, and [quick.sweep], [quick.when.KEY.VALUE],
///                         [quick.variant.NAME], whose lists replace those of the same key
struct Experiment {
  std::string name;  ///< the folder's name for DIR/experiment.toml, else the file's without .toml
  std::string file;  ///< as given
  std::string text;  ///< of the file
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
  std::vector<Expectation> expectations = {};
  std::vector<FigureRequest> figures = {};
};

/// Reads a file at a scale, "quick" or "full". `fixed` comes from the command line: it wins over the file, and a key
/// given there stops being an axis. Throws Error (usage: file and line, the fault, the valid values; failure:
/// unreadable).
Experiment read_experiment(const std::string& path, const std::string& scale, const Settings& fixed = {});
Experiment parse_experiment(const std::string& text, const std::string& path, const std::string& scale,
                            const Settings& fixed = {});

/// Equal as text, or the same number: "0.0" and "0".
bool same_value(std::string_view a, std::string_view b);
/// The common text of all spellings of the same value.
std::string canonical_value(std::string_view text);

/// One point of the grid.
struct Cell {
  std::vector<std::pair<std::string, std::string>> point = {};  ///< swept key and value as text, in the order of the axes
  Settings settings = {};                                       ///< all of its keys
  std::string key = {};                                         ///< 16 hexadecimal digits, see cell_keys; names the cell's folder
  std::string configuration = {};  ///< likewise, of the run and its point without the seed; means are over these
  std::string command = {};        ///< repeats it: "fedstride run --dataset ..."
  std::string value_of(std::string_view wanted) const;  ///< of `point`; "" where the cell has no such key
};

/// "random-fraction 0, optimizer sgd, seed 1"; "the only cell" for a grid without axes.
std::string point_text(const Cell& cell);

/// The number of cells of the grid. Throws Error (usage) for more than a million, for none, and for an exclusion that
/// excludes nothing.
std::size_t cell_count(const Experiment& experiment);

/// Hashes of the inputs of cells, data sets and files, by a name for each: SHA-256, and for the data of cells under privacy an
/// HMAC under the sweep's key. Kept with a sweep, so that the cells' keys can be computed on a machine without the data.
using InputHashes = std::map<std::string, std::string>;

/// All cells of the grid, the last axis fastest; keys, configuration and commands are filled in. Points that give
/// the same run have one key, and share its folder. Every configuration is resolved, so that an invalid one is refused
/// here. Throws Error: usage for an invalid cell, with its point and the fault, and as cell_count does; failure for data
/// that cannot be read. Known hashes are taken from `inputs`, new ones are added to it. Names of cells under privacy are found
/// again only with the key in `sweep_key` (keep_sweep_key); without such a file they are provisional.
std::vector<Cell> expand(const Experiment& experiment, InputHashes& inputs, const std::filesystem::path& sweep_key = {});
std::vector<Cell> expand(const Experiment& experiment);

}  // namespace fedstride
