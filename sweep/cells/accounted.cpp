#include "sweep/cells/accounted.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/folder_lock.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/random.hpp"
#include "core/secret_key.hpp"
#include "core/text.hpp"
#include "data/datasets.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/rdp_orders.hpp"
#include "sim/prepare/setup.hpp"
#include "sim/run/run.hpp"
#include "sweep/cells/cell_keys.hpp"
#include "sweep/cells/grid.hpp"
#include "sweep/cells/sweep_folder.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

// The privacy of one cell at one level, with the spendings that a record may have at the end of a run.
struct CellLevel {
  Level level;
  double delta;
  std::vector<Spending> spendings;
};

std::string described(const Spending& spending) {
  std::string text;
  for (const Releases& releases : spending)
    text += (text.empty() ? "" : " and ") + counted(releases.count, "release") + " with noise multiplier " +
            number_text(releases.noise_multiplier) + ", " + std::string(name_of(releases.sampling)) + " at rate " +
            number_text(releases.rate) + ", " + std::string(name_of(releases.neighbours)) +
            (releases.passes > 0 ? ", " + std::to_string(releases.passes) + " passes" : "");
  return text;
}

std::string described(const std::vector<CellLevel>& levels) {
  std::string text;
  for (const CellLevel& level : levels) {
    text += (text.empty() ? "" : "; ") + std::string(name_of(level.level)) + " level, delta " + number_text(level.delta);
    for (const Spending& spending : level.spendings) text += ", " + described(spending);
  }
  return text;
}

std::vector<CellLevel> levels_of(const Setup& setup) {
  const auto rounds = static_cast<std::uint64_t>(setup.configuration.rounds);
  const auto with_rest = [&](Spending spending, const LevelSetup& level) {
    for (const Releases& more : level.beside(rounds)) spending.push_back(more);
    return spending;
  };
  std::vector<CellLevel> levels;
  if (const auto& level = setup.privacy.example) {
    levels.push_back({Level::example, level->delta, {}});
    const int epochs = setup.configuration.rounds * setup.configuration.local_epochs;
    for (const auto& [rows, plan] : setup.privacy.plans)
      levels.back().spendings.push_back(with_rest(plan->spending(0, plan->releases_before(epochs), epochs), *level));
  }
  if (const auto& level = setup.privacy.client) {
    Releases all = setup.privacy.client_release;
    all.count = rounds;
    levels.push_back({Level::client, level->delta, {with_rest({all}, *level)}});
  }
  return levels;
}

void check_score(const Experiment& experiment, const Configuration& configuration) {
  const Tuning& tuning = experiment.tuning;
  const auto refuse = [](const std::string& why) { throw usage_error("an accounted sweep: " + why); };
  if (!tuning.keys.empty() && tuning.on != "test")
    refuse("[tune] on is '" + tuning.on +
           "', whose rows are protected like training rows, so the score itself would leak; set on = \"test\", with "
           "--public-test or --evaluate private");
  if (tuning.metric != "accuracy" && tuning.metric != "r2" && tuning.metric != "loss")
    refuse("[tune] metric is '" + tuning.metric + "'; valid: accuracy, r2, loss");
  if (!is_private(configuration)) refuse("dp is 'none'; without privacy, the choice has no privacy cost to account for");
  if (configuration.randomness != Randomness::secret)
    refuse("randomness is 'seeded', which gives two runs of a cell the same noise; valid: secret");
  const bool is_private_score = configuration.evaluate == EvaluateRule::privately;
  if (!is_private_score && !names_public_test(configuration.dataset, configuration))
    refuse(
        "the score is on test rows that the statement does not cover; declare them public (--public-test) or release the score "
        "(--evaluate private)");
  if (is_private_score && (configuration.evaluate_every == 0 || configuration.rounds % configuration.evaluate_every != 0))
    refuse("evaluate-every is " + std::to_string(configuration.evaluate_every) + ", so the last of " +
           std::to_string(configuration.rounds) + " rounds has no released score; it must divide rounds");
}

std::vector<Cell> cells_of(const Experiment& experiment) {
  if (experiment.command != "run")
    throw usage_error("an accounted sweep consists of runs; the file's command is '" + experiment.command + "'; valid: run");
  check_cells(experiment);
  std::vector<Cell> cells;
  for_each_cell(experiment, [&](const Cell& cell) { cells.push_back(cell); });
  return cells;
}

// The state between runs, kept in a file that only its owner can read.
struct ChoiceState {
  std::string identity;    ///< hash of the distribution of the number of runs, of the cells and of their settings
  std::uint64_t next = 0;  ///< number of the next run
  std::uint64_t best = 0;  ///< number of the best run so far, counted from 1; 0: none
  double score = 0;        ///< of the best run
  std::uint64_t cell = 0;  ///< index in the grid of the best run's cell
};

class SecretChoice {
 public:
  SecretChoice(const Experiment& experiment, const AccountedOptions& options)
      : options_(options), cells_(cells_of(experiment)), tuning_(experiment.tuning) {
    choice_.folder = sweep_path(experiment, options.out);
    choice_.metric = tuning_.metric;
    choice_.statements = account_choice(experiment, cells_, options.selection);
    Hash identity;
    identity.text(law_text());
    for (const Cell& cell : cells_) {
      std::string words;
      for (const std::string& word : command_words(experiment, cell)) words += word + '\0';
      identity.text(words);
    }
    state_.identity = identity.hex();
  }

  AccountedChoice all() {
    check_folder();
    make_folder(choice_.folder);
    lock_.emplace(locked(choice_.folder));
    key_ = load_or_create_key(choice_.folder / "runs.key");
    take_up();
    RandomStream random = RandomSource(key_).at({Purpose::run_count});
    const std::uint64_t runs = draw_runs(options_.selection, random);
    for (; state_.next < runs; settle()) {
      drop_others();
      if (!make_run()) {
        choice_.interrupted = true;
        return choice_;
      }
    }
    conclude();
    return choice_;
  }

 private:
  fs::path state_file() const { return choice_.folder / "runs.json"; }
  fs::path statement_file() const { return choice_.folder / "statement.json"; }
  // The folder's name reveals nothing about the run's number.
  fs::path place(std::uint64_t run) const {
    return choice_.folder / "runs" / keyed_hash(key_, "fedstride: run " + std::to_string(run)).substr(0, 16);
  }
  std::string law_text() const {
    const Selection& law = options_.selection;
    return law.runs == SelectionRuns::poisson
               ? "Poisson of mean " + number_text(law.mean)
               : "truncated negative binomial of shape " + number_text(law.shape) + " and mean " + number_text(law.mean);
  }
  std::uint64_t cell_of(std::uint64_t run) const {
    return RandomSource(key_).at({Purpose::run_count, 1, 0, 0, static_cast<std::uint32_t>(run)}).below(cells_.size());
  }

  void check_folder() const {
    std::error_code error;
    if (!fs::exists(choice_.folder, error)) return;
    if (fs::exists(statement_file(), error) && !fs::exists(state_file(), error))
      throw usage_error(
          "out '" + choice_.folder.string() +
          "' already holds a finished choice (statement.json); another choice costs its own epsilon: name another folder");
    if (!fs::exists(choice_.folder / "runs.key", error) && !fs::is_empty(choice_.folder, error))
      throw usage_error("out '" + choice_.folder.string() +
                        "' contains something other than an accounted sweep; name a new or empty folder");
  }

  // Loads or initializes the sweep's state.
  void take_up() {
    std::error_code error;
    if (!fs::exists(state_file(), error)) return write_state();
    const Json json = parse_json(read_file(state_file(), 1 << 16));
    try {
      if (json.at("identity").get<std::string>() != state_.identity)
        throw usage_error(
            "out '" + choice_.folder.string() +
            "' was begun with other cells, other settings or another distribution of the number of runs; use the same ones");
      state_.next = json.at("next").get<std::uint64_t>();
      state_.best = json.at("best").get<std::uint64_t>();
      state_.cell = json.at("cell").get<std::uint64_t>();
      state_.score = json.at("score").is_null() ? kNoScore : json.at("score").get<double>();
    } catch (const JsonError&) {
      throw failure("'" + state_file().string() + "' is damaged");
    }
    if (state_.cell >= cells_.size()) throw failure("'" + state_file().string() + "' is damaged");
  }

  void write_state() const {
    const Json json{{"identity", state_.identity},
                    {"next", state_.next},
                    {"best", state_.best},
                    {"cell", state_.cell},
                    {"score", number_or_null(state_.score)}};
    const NewFile file{.name = "runs.json", .contents = dump_json(json) + "\n", .mode = 0600};
    write_files(choice_.folder, std::span(&file, 1));
  }

  // Removes all runs except the best and the next.
  void drop_others() const {
    make_folder(choice_.folder / "runs");
    fs::permissions(choice_.folder / "runs", fs::perms::owner_all);
    for (const auto& entry : fs::directory_iterator(choice_.folder / "runs"))
      if (entry.path() != place(state_.next) && (state_.best == 0 || entry.path() != place(state_.best - 1)))
        fs::remove_all(entry.path());
  }

  // Starts or continues the next run; returns false if it was interrupted.
  bool make_run() {
    RunObserver observer;
    observer.stop = options_.stop;
    const fs::path folder = place(state_.next);
    const Setting threads{.value = std::to_string(options_.threads), .from_command_line = true};
    std::error_code error;
    RunSummary summary;
    try {
      if (fs::exists(folder / "config.toml", error)) {
        summary = resume(folder.string(), {{"threads", threads}}, observer);
      } else {
        fs::remove_all(folder);
        Settings settings = cells_[cell_of(state_.next)].settings;
        settings["threads"] = threads;
        settings["out"] = {.value = folder.string(), .from_command_line = true};
        settings.erase("quiet");
        settings.try_emplace("accept-failures", Setting{std::string("all")});
        summary = run(settings, observer);
      }
    } catch (const FolderInUse&) {
      throw;
    } catch (const Error& what) {
      throw failure("a run of the accounted sweep failed: " + std::string(what.what()) +
                    "; rerun the same command to continue where it stopped");
    }
    if (summary.interrupted) return false;
    latest_ = !summary.test_is_covered ? kNoScore : tuning_.metric == "loss" ? -summary.test.loss : summary.test.accuracy;
    return true;
  }

  // Keeps the better of the last run and the best so far; the earlier run wins ties.
  void settle() {
    const bool is_better = state_.best == 0 || latest_ > state_.score || (std::isnan(state_.score) && !std::isnan(latest_));
    if (is_better) {
      state_.best = state_.next + 1;
      state_.score = latest_;
      state_.cell = cell_of(state_.next);
    }
    ++state_.next;
    write_state();
  }

  void conclude() {
    const fs::path winner = choice_.folder / "winner";
    std::error_code error;
    if (state_.best > 0) {
      if (!fs::exists(winner, error)) fs::rename(place(state_.best - 1), winner);
      choice_.cell = point_text(cells_[state_.cell]);
      choice_.score = tuning_.metric == "loss" ? -state_.score : state_.score;
    }
    Json levels = Json::array();
    for (const AccountedStatement& statement : choice_.statements)
      levels.push_back({{"level", name_of(statement.level)},
                        {"epsilon", number_or_null(statement.total)},
                        {"delta", statement.delta},
                        {"epsilon_of_one_run", number_or_null(statement.single)}});
    const Json json{{"cell", state_.best > 0 ? Json(choice_.cell) : Json()},
                    {"metric", "test_" + choice_.metric},
                    {"score", state_.best > 0 ? number_or_null(choice_.score) : Json()},
                    {"cells", cells_.size()},
                    {"runs", "a secret number, " + law_text()},
                    {"privacy", levels}};
    write_file(statement_file(), dump_json(json, 2) + "\n");
    fs::remove_all(choice_.folder / "runs");
    fs::remove(choice_.folder / "runs.key");
    fs::remove(state_file());  // last, since a sweep with a statement but without this file is finished
    sync_folder_of(statement_file());
  }

  static constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

  const AccountedOptions& options_;
  std::vector<Cell> cells_;
  Tuning tuning_;
  AccountedChoice choice_ = {};
  std::optional<FolderLock> lock_ = {};
  SecretKey key_ = {};
  ChoiceState state_ = {};
  double latest_ = kNoScore;
};

}  // namespace

std::vector<AccountedStatement> account_choice(const Experiment& experiment, const std::vector<Cell>& cells,
                                               const Selection& selection) {
  std::vector<CellLevel> levels;
  std::string first;
  for (const Cell& cell : cells) {
    const Configuration configuration = resolve(cell.settings);
    check_score(experiment, configuration);
    std::vector<CellLevel> own = levels_of(prepare(configuration));
    if (levels.empty()) {
      levels = std::move(own);
      first = described(levels);
    } else if (const std::string text = described(own); text != first) {
      throw usage_error("an accounted sweep needs the same privacy in all cells; cell (" + point_text(cell) + ") has " + text +
                        ", and cell (" + point_text(cells.front()) + ") has " + first);
    }
  }
  const auto orders = order_grid(OrderGrid::standard);
  std::vector<AccountedStatement> statements;
  for (const CellLevel& level : levels) {
    std::vector<double> divergences(orders.size(), 0);
    for (const Spending& spending : level.spendings) {
      check_sound("an accounted sweep, by rdp", spending, unsound_by(Rdp{}, spending));
      const std::vector<double> own = spending_rdp(spending, orders);
      for (std::size_t i = 0; i < own.size(); ++i) divergences[i] = std::max(divergences[i], own[i]);
    }
    AccountedStatement statement{.level = level.level,
                                 .delta = level.delta,
                                 .single = std::numeric_limits<double>::infinity(),
                                 .total = selection_epsilon(selection, orders, divergences, level.delta)};
    for (std::size_t i = 0; i < orders.size(); ++i)
      statement.single = std::min(statement.single, epsilon_at(Conversion::improved, orders[i], divergences[i], level.delta));
    statement.single = std::max(statement.single, 0.0);
    statements.push_back(statement);
  }
  return statements;
}

AccountedChoice sweep_accounted(const Experiment& experiment, const AccountedOptions& options) {
  return SecretChoice(experiment, options).all();
}

}  // namespace fedstride
