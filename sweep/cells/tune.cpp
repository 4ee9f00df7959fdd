#include "sweep/cells/tune.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/folder_lock.hpp"
#include "core/json.hpp"
#include "core/random.hpp"
#include "core/text.hpp"
#include "server/round.hpp"
#include "sweep/cells/cell_keys.hpp"
#include "sweep/cells/grid.hpp"
#include "sweep/cells/sweep_folder.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

std::string seedless_text(const Cell& cell) {
  Cell without = cell;
  std::erase_if(without.point, [](const auto& one) { return one.first == "seed"; });
  return point_text(without);
}

void check_tuned(const Experiment& experiment) {
  const Tuning& tuning = experiment.tuning;
  if (experiment.command != "run")
    throw usage_error("tune needs training runs; the command of '" + experiment.file + "' is '" + experiment.command +
                      "'; valid: run");
  if (tuning.on != "validation")
    throw usage_error("[tune] on is '" + tuning.on +
                      "'; tune must choose on validation rows, so that the test rows can judge the winner");
  if (tuning.metric != "accuracy" && tuning.metric != "r2" && tuning.metric != "loss")
    throw usage_error("[tune] metric is '" + tuning.metric +
                      "', which is unknown for a cell that stops early; valid: accuracy, r2, loss");
  if (tuning.keys.empty()) return;
  for (const Axis& axis : experiment.axes)
    for (const std::string& key : axis.keys)
      if (key != "seed" && std::ranges::find(tuning.keys, key) == tuning.keys.end())
        throw usage_error("[tune] keys are " + joined(tuning.keys) + ", but " + key +
                          " is also swept; tune has a single winner: add " + key + " to keys, or fix it with --" + key);
}

// Checks a cell's settings before any data are read; returns its number of rounds.
std::uint32_t checked_rounds(const Configuration& configuration) {
  if (is_private(configuration))
    throw usage_error(
        "dp is '" + std::string(configuration.privacy.name()) +
        "'; every score of every rung would be a release that no guarantee accounts for; to choose under dp, use: fedstride "
        "sweep FILE --accounted");
  if (!(configuration.validation_fraction > 0))
    throw usage_error(
        "validation-fraction is 0, so there are no validation rows to choose on; it must be above 0, for example 0.1");
  return static_cast<std::uint32_t>(configuration.rounds);
}

std::vector<std::string> swept_by(const Experiment& experiment) {
  std::vector<std::string> keys;
  for (const Axis& axis : experiment.axes)
    for (const std::string& key : axis.keys)
      if (key != "seed" && std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  return keys;
}

void take_brackets(const TuneOptions& options, TunePlan& plan) {
  const auto least = static_cast<std::uint32_t>(options.min_rounds);
  const auto eta = static_cast<unsigned>(options.eta);
  if (options.min_rounds < 1 || least > plan.rounds)
    throw usage_error("min-rounds is " + std::to_string(options.min_rounds) + "; it must be from 1 to the " +
                      counted(plan.rounds, "round") + " of a cell");
  if (options.eta < 2)
    throw usage_error("eta is " + std::to_string(options.eta) +
                      "; it must be 2 or more, since one configuration in eta is promoted");
  const std::size_t grid = plan.configurations.size();
  if (options.draws > grid)
    throw usage_error("configurations is " + std::to_string(options.draws) + "; the grid has only " + std::to_string(grid));
  plan.pool.resize(grid);
  std::iota(plan.pool.begin(), plan.pool.end(), std::size_t{0});
  if (options.draws > 0 || options.hyperband) {
    RandomStream random(options.draw_seed, {.purpose = Purpose::run_count, .step = 1});
    shuffle(std::span(plan.pool), random);
  }
  if (options.draws > 0) plan.pool.resize(options.draws);
  if (plan.pool.size() < 2)
    throw usage_error(
        "tune compares two or more configurations, but there is only one; add a list for a setting other than seed to [sweep]");
  const std::size_t n = plan.pool.size();
  plan.brackets = options.hyperband ? hyperband_brackets(n, least, plan.rounds, eta)
                                    : std::vector<Bracket>{halving_bracket(n, least, plan.rounds, eta)};
  std::size_t next = 0;  // brackets share as few configurations as possible
  for (const Bracket& bracket : plan.brackets) {
    std::vector<std::size_t>& entry = plan.entries.emplace_back();
    for (std::size_t i = 0; i < bracket.front().configurations; ++i) entry.push_back(plan.pool[next++ % n]);
  }
}

std::uint64_t rounds_of(const TunePlan& plan) {
  std::uint64_t rounds = 0;
  for (const Bracket& bracket : plan.brackets) {
    std::uint32_t before = 0;
    for (const Rung& rung : bracket) {
      rounds += rung.configurations * (rung.rounds - before);
      before = rung.rounds;
    }
  }
  return rounds * plan.cells.size() / plan.configurations.size();
}

// The text as a field of a CSV file (RFC 4180), quoted if needed.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted.append(letter == '"' ? 2 : 1, letter);
  return quoted + '"';
}

// Returns a round's line of a rounds.jsonl.
Json read_round(const fs::path& path, std::uint32_t round) {
  std::ifstream file = opened_stream(path);
  std::string line;
  std::uint32_t rounds = 0;
  while (rounds < round && std::getline(file, line) && !file.eof()) ++rounds;  // an incomplete last line does not count
  if (rounds < round)
    throw failure("'" + path.string() + "' has " + counted(rounds, "round") + ", not " + std::to_string(round) +
                  "; remove the cell's folder to run it again");
  Json json = parse_json(line);
  if (!json.is_object() || json.value("round", Json()) != Json(round))
    throw failure("line " + std::to_string(round) + " of '" + path.string() + "' is not a valid line for round " +
                  std::to_string(round) + "; remove the cell's folder to run it again");
  return json;
}

void add_score(const Score& score, Json& json) {
  json["score"] = number_or_null(score.value);
  json["low"] = number_or_null(score.low);
  json["high"] = number_or_null(score.high);
}

Json places_json(const TunePlan& plan, const RungOrder& order) {
  Json list = Json::array();
  for (const RungPlace& one : order.places) {
    Json json{{"configuration", plan.name_of(one.configuration)}};
    add_score(one.score, json);
    json["goes_on"] = one.goes_on;
    json["near_cut"] = one.is_near_cut;
    list.push_back(std::move(json));
  }
  return list;
}

class Tune {
 public:
  Tune(const Experiment& experiment, const TunePlan& plan, const TuneOptions& options, const TuneObserver& observer)
      : experiment_(experiment), plan_(plan), observer_(observer), folder_(plan.folder / "tune") {
    options_ = {.out = plan.folder.string(), .jobs = options.jobs, .threads = options.threads};
  }

  TuneSummary all() {
    check_sweep_folder(plan_.folder, experiment_);
    check_folder();
    cells_ = expand(experiment_, options_.inputs, sweep_key(plan_.folder));
    write_sweep_folder(plan_.folder, experiment_, options_.inputs);
    make_folder(folder_);
    const FolderLock lock = locked(folder_);
    check_folder();
    write();
    for (std::size_t bracket = 0; bracket < plan_.brackets.size(); ++bracket)
      if (!carry_out(bracket)) return std::move(summary_);
    conclude();
    return std::move(summary_);
  }

 private:
  void check_folder() const {
    const fs::path file = folder_ / "tune.json";
    if (!is_there(file)) return;
    constexpr std::uint64_t kMaxTuneBytes = std::uint64_t{1} << 28;
    const Json json = parse_json(read_file(file, kMaxTuneBytes));
    const Json text = json.is_object() ? json.value("tune", Json()) : Json();
    if (!text.is_string())
      throw usage_error("out '" + plan_.folder.string() +
                        "' has a damaged tune/tune.json; remove it to have the cells read again");
    if (text.get<std::string>() != plan_.text)
      throw usage_error("out '" + plan_.folder.string() + "' holds a different tuning (" + text.get<std::string>() +
                        "); this one is " + plan_.text + ": name another folder");
  }

  // Carries out a bracket. Returns false unless all its rungs were decided.
  bool carry_out(std::size_t bracket) {
    std::vector<std::size_t> configurations = plan_.entries[bracket];
    const Bracket& rungs = plan_.brackets[bracket];
    for (std::size_t i = 0; i < rungs.size(); ++i) {
      RungResult result{.bracket = bracket, .rung = i, .plan = rungs[i]};
      if (!run_cells(result, configurations)) return false;
      std::vector<RungPlace> places;
      for (const std::size_t one : configurations)
        places.push_back({.configuration = one, .score = score_of(one, rungs[i].rounds)});
      summary_.metric = result.metric = metric_;
      const std::size_t keep = i + 1 < rungs.size() ? rungs[i + 1].configurations : 1;
      result.order = order_rung(std::move(places), keep, experiment_.tuning.metric != "loss");
      if (std::isnan(result.order.places.front().score.value))
        throw failure("no configuration has a " + metric_ + " after round " + std::to_string(rungs[i].rounds) +
                      ": all diverged, or the model has no such metric");
      configurations.clear();
      for (const RungPlace& one : result.order.places)
        if (one.goes_on) configurations.push_back(one.configuration);
      if (i + 1 == rungs.size())
        for (const RungPlace& one : result.order.places) full_.emplace(one.configuration, one.score);
      summary_.rungs.push_back(result);
      write();
      if (observer_.end) observer_.end(result);
    }
    return true;
  }

  bool run_cells(const RungResult& rung, const std::vector<std::size_t>& configurations) {
    SweepOptions options = options_;
    for (const std::size_t one : configurations)
      options.order.insert(options.order.end(), plan_.configurations[one].begin(), plan_.configurations[one].end());
    if (rung.plan.rounds < plan_.rounds) options.pause_after = rung.plan.rounds;
    SweepObserver observer = observer_.begin ? observer_.begin(rung) : SweepObserver{};
    observer.stop = observer_.stop;
    SweepSummary summary = sweep(experiment_, cells_, options, observer);
    if (summary.finished == summary.cells) return true;
    summary_.failed = std::move(summary.failed);
    summary_.held_elsewhere = summary.held_elsewhere;
    summary_.interrupted = summary.interrupted;
    return false;
  }

  // Returns a configuration's score after a round: the mean over its seeds.
  Score score_of(std::size_t configuration, std::uint32_t round) {
    std::vector<double> values;
    double rows = 0;
    for (const std::size_t i : plan_.configurations[configuration]) {
      const fs::path folder = plan_.folder / "cells" / cells_[i].key;
      const Json line = read_round(folder / "rounds.jsonl", round);
      const auto has = [&](const char* name) { return line.value(name, Json()).is_number(); };
      if (metric_ == "validation_accuracy" && !has("validation_accuracy") && has("validation_r2")) metric_ = "validation_r2";
      values.push_back(has(metric_.c_str()) ? line.at(metric_).get<double>() : std::numeric_limits<double>::quiet_NaN());
      constexpr std::uint64_t kMaxRunSummaryBytes = std::uint64_t{64} << 20;
      const Json summary = parse_json(read_file(folder / "summary.json", kMaxRunSummaryBytes));
      const Json count = summary.is_object() ? summary.value("validation_rows", Json()) : Json();
      if (count.is_number()) rows += count.get<double>();
    }
    if (metric_ != "validation_accuracy") return score_of_seeds(values);
    return score_of_share(std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()), rows);
  }

  void conclude() {
    std::vector<RungPlace> places;
    for (const auto& [configuration, score] : full_) places.push_back({.configuration = configuration, .score = score});
    summary_.final = order_rung(std::move(places), 1, experiment_.tuning.metric != "loss");
    const Cell& cell = cells_[plan_.configurations[summary_.final.places.front().configuration].front()];
    Settings settings = cell.settings;
    for (const char* key : {"out", "threads", "quiet"}) settings.erase(key);
    settings.try_emplace("accept-failures", Setting{std::string("all")});  // as in a sweep's cells
    summary_.winner = folder_ / "winner.toml";
    summary_.run = plan_.folder / "cells" / cell.key;
    write_file(summary_.winner, "# " + one_line("The winner of: fedstride tune " + experiment_.file) + "\n# " +
                                    one_line(point_text(cell)) + "\n" +
                                    write_settings(with_absolute_paths(resolve(settings)), settings));
    write();
  }

  void write() const {
    const std::vector<std::string> keys = swept_by(experiment_);
    std::vector<std::string> columns{"bracket", "rung", "rounds", "place"};
    columns.insert(columns.end(), keys.begin(), keys.end());
    columns.insert(columns.end(), {"score", "low", "high", "goes_on", "near_cut"});
    std::string table = joined(columns, ",") + "\n";
    const auto number = [&](double value) { table += ',' + (std::isfinite(value) ? number_text(value) : ""); };
    for (const RungResult& rung : summary_.rungs)
      for (std::size_t place = 0; place < rung.order.places.size(); ++place) {
        const RungPlace& one = rung.order.places[place];
        table += std::to_string(rung.bracket + 1) + ',' + std::to_string(rung.rung + 1) + ',' + std::to_string(rung.plan.rounds) +
                 ',' + std::to_string(place + 1);
        const Cell& cell = plan_.cells[plan_.configurations[one.configuration].front()];
        for (const std::string& key : keys) table += ',' + csv_field(cell.value_of(key));
        for (const double value : {one.score.value, one.score.low, one.score.high}) number(value);
        table += std::string(one.goes_on ? ",1" : ",0") + (one.is_near_cut ? ",1\n" : ",0\n");
      }
    write_file(folder_ / "rungs.csv", table);
    write_file(folder_ / "tune.json", tune_json(plan_, summary_) + "\n");
  }

  const Experiment& experiment_;
  const TunePlan& plan_;
  const TuneObserver& observer_;
  fs::path folder_;
  SweepOptions options_;
  std::vector<Cell> cells_ = {};
  std::string metric_ = plan_.metric;
  std::map<std::size_t, Score> full_ = {};  ///< scores of configurations at full length
  TuneSummary summary_ = {};
};

}  // namespace

std::string TunePlan::name_of(std::size_t configuration) const {
  return seedless_text(cells[configurations[configuration].front()]);
}

TunePlan plan_tuning(const Experiment& experiment, const TuneOptions& options) {
  check_tuned(experiment);
  check_cells(experiment);
  TunePlan plan{.folder = sweep_path(experiment, options.out), .metric = experiment.tuning.metric_name()};
  std::map<std::string, std::size_t> known;
  std::set<std::uint32_t> evaluated_every;
  for_each_cell(experiment, [&](const Cell& cell) {
    const Configuration configuration = resolve(cell.settings);
    const std::uint32_t rounds = checked_rounds(configuration);
    evaluated_every.insert(static_cast<std::uint32_t>(configuration.evaluate_every));
    if (plan.rounds > 0 && rounds != plan.rounds)
      throw usage_error("rounds is " + std::to_string(plan.rounds) + " and " + std::to_string(rounds) +
                        "; all cells of a tuning must have the same number of rounds");
    plan.rounds = rounds;
    const auto [at, is_new] = known.emplace(seedless_text(cell), plan.configurations.size());
    if (is_new) plan.configurations.emplace_back();
    plan.configurations[at->second].push_back(plan.cells.size());
    plan.cells.push_back(cell);
  });
  take_brackets(options, plan);
  for (const Bracket& bracket : plan.brackets)
    for (const Rung& rung : bracket)
      for (const std::uint32_t every : evaluated_every)
        if (!EvaluatedRounds{every, plan.rounds}.has(rung.rounds))
          throw usage_error("evaluate-every is " + std::to_string(every) + ", so a rung of " + counted(rung.rounds, "round") +
                            " has no score; valid: 1, or a divisor of every rung's rounds");
  plan.work = rounds_of(plan);
  plan.text = std::string(options.hyperband ? "Hyperband" : "successive halving") + " of " +
              counted(plan.pool.size(), "configuration") + " in a grid of " + std::to_string(plan.configurations.size()) +
              " and " + counted(plan.cells.size(), "cell") + ", eta " + std::to_string(options.eta) + ", from " +
              std::to_string(options.min_rounds) + " to " + counted(plan.rounds, "round") + ", by " + plan.metric;
  if (options.draws > 0 || options.hyperband) plan.text += ", draw-seed " + std::to_string(options.draw_seed);
  return plan;
}

TuneSummary tune(const Experiment& experiment, const TunePlan& plan, const TuneOptions& options, const TuneObserver& observer) {
  return Tune(experiment, plan, options, observer).all();
}

std::string tune_json(const TunePlan& plan, const TuneSummary& summary) {
  Json json{{"tune", plan.text},
            {"metric", summary.metric.empty() ? plan.metric : summary.metric},
            {"rounds", plan.rounds},
            {"rungs", Json::array()}};
  for (const RungResult& rung : summary.rungs)
    json["rungs"].push_back({{"bracket", rung.bracket + 1},
                             {"rung", rung.rung + 1},
                             {"rounds", rung.plan.rounds},
                             {"cut", number_or_null(rung.order.cut)},
                             {"toss_up", rung.order.is_toss_up()},
                             {"configurations", places_json(plan, rung.order)}});
  if (!summary.final.places.empty()) {
    const RungPlace& first = summary.final.places.front();
    Json& winner = json["winner"] = {{"configuration", plan.name_of(first.configuration)}};
    add_score(first.score, winner);
    winner["toss_up"] = summary.final.is_toss_up();
    winner["config"] = "tune/winner.toml";
    winner["run"] = "cells/" + summary.run.filename().string();
  }
  return dump_json(json, 2);
}

}  // namespace fedstride
