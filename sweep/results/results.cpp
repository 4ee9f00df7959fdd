#include "sweep/results/results.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "sweep/cells/cell_state.hpp"
#include "sweep/results/ahead.hpp"
#include "sweep/results/read_cell.hpp"
#include "sweep/results/summary.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::map<std::string, std::string> texts_at(const Json& json, const char* key) {
  std::map<std::string, std::string> texts;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return texts;
  for (const auto& [name, value] : found->items()) texts[name] = value.is_string() ? value.get<std::string>() : dump_json(value);
  return texts;
}

// Reads the files that sweep() wrote, which hold the experiment as run and the machine.
std::vector<Cell> read_sweep(const fs::path& folder, SweepResults& results, InputHashes& inputs) {
  constexpr std::uint64_t kMaxSweepFileBytes = std::uint64_t{1} << 24;
  const fs::path path = folder / "sweep.json";
  const Json json = parse_json(read_file(path, kMaxSweepFileBytes));
  const std::string scale = json.is_object() ? text_at(json, "scale") : "";
  if (scale != "full" && scale != "quick")
    throw failure("'" + path.string() + "' is damaged: its scale must be \"full\" or \"quick\"");
  Settings fixed;
  for (const auto& [key, value] : texts_at(json, "fixed")) fixed[key] = {value, true};
  results.experiment = read_experiment((folder / "experiment.toml").string(), scale, fixed);
  if (const std::string name = text_at(json, "experiment"); !name.empty()) results.experiment.name = name;
  if (const std::string file = text_at(json, "file"); !file.empty()) results.experiment.file = file;
  results.machine = texts_at(json, "machine");
  inputs = texts_at(json, "inputs");
  return expand(results.experiment, inputs);
}

// Reads the folder of one run as a sweep of one cell.
std::vector<Cell> read_run(const fs::path& folder, SweepResults& results) {
  Experiment& experiment = results.experiment;
  const fs::path file = folder / "config.toml";
  const fs::path full = fs::absolute(folder).lexically_normal();
  experiment.name = (full.has_filename() ? full : full.parent_path()).filename().string();
  experiment.file = file.string();
  experiment.text = read_file(file, std::uint64_t{1} << 20);
  experiment.scale = "full";
  experiment.title = experiment.name;
  experiment.settings = parse_settings(experiment.text, experiment.file);
  return {{.settings = experiment.settings,
           .key = experiment.name,
           .configuration = experiment.name,
           .command = "fedstride run --config " + file.string()}};
}

/// Returns the rounds of long runs that need not be kept: those without an evaluation, if any round has one. An asynchronous run
/// may have a round per update.
std::set<std::uint32_t> unevaluated_rounds(const std::vector<CellResult>& cells) {
  constexpr std::size_t kLongRun = 1000;
  std::set<std::uint32_t> without;
  bool any = false;
  for (const CellResult& cell : cells) {
    if (cell.rounds.size() <= kLongRun) return {};
    for (const auto& round : cell.rounds) {
      const bool has = std::ranges::any_of(round.numbers, [](const auto& number) {
        return number.first.starts_with("test_") || number.first.starts_with("validation_");
      });
      any |= has;
      if (!has) without.insert(round.round);
    }
  }
  return any ? without : std::set<std::uint32_t>{};
}

/// Collects the summary's rows. Drops all rows of a kind (such as clients by round) once that kind has more than `most` rows.
class HeldSummary {
 public:
  HeldSummary(const Experiment& experiment, std::size_t most) : most_(most) {
    const auto note = [&](const ResultQuantity& quantity, const auto& self) -> void {
      if (quantity.round) kinds_.some_rounds.insert(*quantity.round);
      for (const auto& other : quantity.minus) self(other, self);
      for (const auto& other : quantity.over) self(other, self);
    };
    for (const Expectation& expectation : experiment.expectations) {
      note(expectation.value, note);
      if (expectation.other) note(*expectation.other, note);
    }
  }

  void add(const std::vector<CellResult>& cells) {
    Seeds seeds;
    for (const CellResult& cell : cells) seeds.push_back(&cell);
    const std::set<std::uint32_t> skipped = unevaluated_rounds(cells);
    summarize_configuration(seeds, kinds_, [&](const SummaryLine& line) {
      if (line.round && !kinds_.some_rounds.contains(*line.round) && skipped.contains(*line.round)) return;
      rows_.push_back(summary_row(seeds.front()->cell, 0, line));
      if (line.round && line.client) ++client_rounds_;
      if (line.round && !line.client) ++rounds_;
      if (!line.round && line.client) ++clients_;
    });
    drop(kinds_.client_rounds, client_rounds_, "clients by round", [](const SummaryRow& row) { return row.round && row.client; });
    drop(kinds_.clients, clients_, "clients after the last round",
         [](const SummaryRow& row) { return !row.round && row.client; });
    drop(kinds_.rounds, rounds_, "the federation by round",
         [&](const SummaryRow& row) { return row.round && !row.client && !kinds_.some_rounds.contains(*row.round); });
  }

  /// Call after the last add(), since ranks need all cells.
  void finish(SweepResults& results) {
    const auto ranks = places(results.experiment, results.cells);
    if (!ranks.empty())
      for (SummaryRow& row : rows_)
        if (const auto found = ranks.find(row.configuration); found != ranks.end()) row.rank = found->second;
    results.summary = std::move(rows_);
    results.left_out = std::move(left_out_);
  }

 private:
  void drop(bool& wanted, std::size_t count, const char* what, function_ref<bool(const SummaryRow&)> is_of_kind) {
    if (!wanted || count <= most_) return;
    wanted = false;
    std::erase_if(rows_, is_of_kind);
    left_out_ +=
        (left_out_.empty() ? "only in summary.csv, because there are more than " + std::to_string(most_) + " rows of each: "
                           : "; ") +
        std::string(what);
  }

  std::size_t most_;
  SummaryKinds kinds_;
  std::size_t rounds_ = 0, clients_ = 0, client_rounds_ = 0;
  std::vector<SummaryRow> rows_;
  std::string left_out_;
};

// Replaces accuracy as the tuning metric by R2 for numeric targets, which have no accuracy.
void choose_measure(SweepResults& results) {
  Tuning& tuning = results.experiment.tuning;
  const auto any_has = [&](const std::string& name) {
    return std::ranges::any_of(results.cells, [&](const CellResult& cell) { return cell.numbers.contains(name); });
  };
  if (tuning.metric == "accuracy" && !any_has(tuning.on + "_accuracy") && any_has(tuning.on + "_r2")) tuning.metric = "r2";
}

// Corrects the cell's status if its folder contains only part of the cell's run, or another run.
void check_state(CellResult& cell, const CellState& state, const fs::path& folder) {
  if (state.kind == CellState::Kind::unfinished) cell.status = "unfinished";
  if (state.kind != CellState::Kind::damaged) return;
  cell = {.cell = std::move(cell.cell),
          .status = "failed",
          .error = "'" + folder.string() + "' is damaged: " + state.why + "; remove it to run the cell again"};
}

}  // namespace

std::optional<double> chance_accuracy(const SweepResults& results) {
  std::set<double> seen;
  for (const CellResult& cell : results.cells)
    if (cell.numbers.contains("chance_accuracy")) seen.insert(cell.numbers.of("chance_accuracy"));
  return seen.size() == 1 ? std::optional(*seen.begin()) : std::nullopt;
}

std::vector<std::string> swept_keys(const SweepResults& results) {
  std::vector<std::string> keys;
  const auto add = [&](const std::string& key) {
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  };
  for (const Axis& axis : results.experiment.axes) std::ranges::for_each(axis.keys, add);
  for (const CellResult& cell : results.cells)
    for (const auto& [key, value] : cell.cell.point) add(key);
  return keys;
}

SweepResults read_results(const fs::path& folder, const ReadLimits& limits) {
  SweepResults results;
  results.folder = folder;
  const bool is_sweep = is_there(folder / "sweep.json");
  if (!is_sweep && !is_there(folder / "config.toml"))
    throw usage_error("'" + folder.string() + "' contains no results; " +
                      (is_there(folder / "experiment.toml") ? "run its experiment.toml with 'fedstride sweep'"
                                                            : "name a folder written by 'fedstride sweep' or 'run'"));
  InputHashes inputs;
  std::uint64_t bytes = 0;
  for (Cell& cell : is_sweep ? read_sweep(folder, results, inputs) : read_run(folder, results)) {
    bytes += round_bytes(cell_folder(folder, cell));
    results.cells.push_back({.cell = std::move(cell)});
  }
  results.rounds_left_out = bytes > limits.held_bytes;

  HeldSummary summary(results.experiment, limits.rows);
  NameSet round_names, client_names;
  const std::vector<Seeds> configurations = by_configuration(results.cells);
  const auto read = [&](std::size_t i) {
    std::vector<CellResult> cells;
    for (const CellResult* seed : configurations[i]) {
      const fs::path path = cell_folder(folder, seed->cell);
      CellResult& cell = cells.emplace_back(read_cell(seed->cell, path, results.experiment));
      if (is_sweep && cell.status == "finished")
        check_state(cell, cell_state(folder, results.experiment, cell.cell, inputs), path);
    }
    return cells;
  };
  make_ahead(configurations.size(), read, [&](std::size_t i, std::vector<CellResult> cells) {
    summary.add(cells);
    for (std::size_t seed = 0; seed < cells.size(); ++seed) {
      if (results.rounds_left_out) {
        add_names(cells[seed].rounds, round_names);
        add_names(cells[seed].clients, client_names);
        cells[seed].rounds = {};
        cells[seed].clients = {};
        cells[seed].rows_per_class = {};
        cells[seed].class_names = {};
      }
      const auto place = static_cast<std::size_t>(configurations[i][seed] - results.cells.data());
      results.cells[place] = std::move(cells[seed]);
    }
  });
  results.round_metrics.assign(round_names.begin(), round_names.end());
  results.client_metrics.assign(client_names.begin(), client_names.end());
  choose_measure(results);
  summary.finish(results);
  results.expectations = check(results.experiment, results.cells, results.summary);
  return results;
}

}  // namespace fedstride
