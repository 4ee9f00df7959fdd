#include "dp/ledger/row_budget.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "core/environment.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/stop.hpp"
#include "core/term_json.hpp"
#include "core/text.hpp"
#include "dp/accountants/calibrate.hpp"
#include "dp/ledger/statement.hpp"

namespace fedstride {

// The terms of a line, in this namespace so that term_json is found for lists of them.

/// Releases with the fields that follow from a run, which a ledger's terms leave out.
struct BudgetRelease {
  Releases each = {};
  double noise = 1;
  std::uint64_t count = 1;
  std::uint64_t rounds = 0;
  std::uint64_t most = 0;
  bool operator==(const BudgetRelease&) const = default;
  static constexpr auto kTerms = terms(Term{"each", &BudgetRelease::each}, Term{"noise_multiplier", &BudgetRelease::noise, true},
                                       Term{"count", &BudgetRelease::count, true}, Term{"rounds", &BudgetRelease::rounds},
                                       Term{"most", &BudgetRelease::most});
};

struct BudgetHistory {
  std::vector<BudgetRelease> releases = {};
  bool operator==(const BudgetHistory&) const = default;
  static constexpr auto kTerms = terms(Term{"releases", &BudgetHistory::releases, true});
};

struct BudgetLine {
  std::string rows = {};
  std::string run = {};
  std::uint32_t round = 0;
  std::vector<BudgetRelease> examples = {};
  std::vector<BudgetHistory> or_examples = {};  ///< further alternatives
  std::vector<BudgetRelease> updates = {};
  bool operator==(const BudgetLine&) const = default;
  static constexpr auto kTerms = terms(Term{"rows", &BudgetLine::rows, true}, Term{"run", &BudgetLine::run, true},
                                       Term{"round", &BudgetLine::round, true}, Term{"examples", &BudgetLine::examples},
                                       Term{"or_examples", &BudgetLine::or_examples}, Term{"updates", &BudgetLine::updates});
};

namespace {

constexpr std::uint64_t kMaxBudgetBytes = std::uint64_t{1} << 30;

std::vector<BudgetRelease> written(const Spending& spending) {
  std::vector<BudgetRelease> all;
  for (const Releases& one : spending) all.push_back({one, one.noise_multiplier, one.count, one.rounds, one.most});
  return all;
}

Spending read_back(const std::vector<BudgetRelease>& all) {
  Spending spending;
  for (BudgetRelease one : all) {
    one.each.noise_multiplier = one.noise;
    one.each.count = one.count;
    one.each.rounds = one.rounds;
    one.each.most = one.most;
    spending.push_back(std::move(one.each));
  }
  return spending;
}

/// The sum of all runs' divergences at each order, of the costliest alternative, converted at the best order.
double epsilon_of_costliest(const std::vector<std::vector<Spending>>& runs, double delta) {
  const auto orders = order_grid(OrderGrid::standard);
  std::vector<double> sums(orders.size(), 0);
  for (const auto& alternatives : runs) {
    std::vector<double> most(orders.size(), 0);
    for (const Spending& one : alternatives) {
      const std::vector<double> divergences = spending_rdp(one, orders);
      for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], divergences[i]);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += most[i];
  }
  double epsilon = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < sums.size(); ++i)
    epsilon = std::min(epsilon, epsilon_at(Conversion::improved, orders[i], sums[i], delta));
  return std::max(epsilon, 0.0);
}

/// What each run spent, by rows.
std::map<std::string, std::vector<RowSpending>> by_rows(const RowBudget::Entries& entries) {
  std::map<std::string, std::vector<RowSpending>> all;
  for (const auto& [key, spent] : entries) all[key.first].push_back(spent);
  return all;
}

bool can_write_beside(const std::filesystem::path& path) {
  return ::access((is_there(path) ? path : path.parent_path()).c_str(), W_OK) == 0;
}

/// A user's folder for what lasts between runs; empty if none is known.
std::filesystem::path state_folder() {
  if (const auto folder = environment("XDG_STATE_HOME"); !folder.empty()) return std::filesystem::path(folder) / "fedstride";
  const auto home = environment("HOME");
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".local" / "state" / "fedstride";
}

}  // namespace

RowSpending row_spending(const SpendingTotals& totals) {
  std::vector<Spending> histories(totals.histories());
  for (ClientId client = 0; client < totals.clients(); ++client) histories[totals.history_of(client)] = totals.examples(client);
  return {bounding(std::move(histories), kMostAlternatives), totals.updates()};
}

EpsilonTogether epsilon_together(std::span<const RowSpending> runs, Level level, double delta) {
  std::vector<std::vector<Spending>> costs;
  Spending all;  // of runs with one alternative each
  bool is_single = true;
  for (const RowSpending& run : runs) {
    if (level == Level::client ? run.updates.empty() : run.examples.empty()) continue;
    costs.push_back(level == Level::client ? std::vector<Spending>{run.updates} : run.examples);
    is_single = is_single && costs.back().size() == 1;
    merge(all, costs.back().front());
  }
  if (costs.empty()) return {};
  if (!is_single) {
    Spending every;  // with one neighbor relation and nothing that the accountant has no bound for
    for (const auto& alternatives : costs)
      for (const Spending& one : alternatives) merge(every, one);
    const auto accountant = make_part<Accountant>("accountant", Rdp::kName);
    if (unsound_by(accountant, every).empty()) return {epsilon_of_costliest(costs, delta), std::string(Rdp::kName)};
    for (const auto& alternatives : costs)
      for (std::size_t i = 1; i < alternatives.size(); ++i) merge(all, alternatives[i]);
  }
  for (const std::string_view name : {Tight::kName, Rdp::kName, Zcdp::kName, Strong::kName, Basic::kName}) {
    const auto accountant = make_part<Accountant>("accountant", name);
    if (unsound_by(accountant, all).empty()) return {epsilon_by(accountant, all, delta).value, std::string(name)};
  }
  return {std::numeric_limits<double>::infinity(), "none"};
}

RowBudget::RowBudget(std::filesystem::path file, std::vector<std::string> rows, std::string run)
    : file_(std::move(file)), rows_(std::move(rows)), run_(std::move(run)) {}

std::vector<std::vector<RowSpending>> RowBudget::others() {
  constexpr std::chrono::milliseconds kPause{50};
  for (int attempt = 0; !writer_; ++attempt) {
    check_stop();
    try {
      writer_ = is_there(file_) ? LedgerWriter::open(file_) : LedgerWriter::create(file_);
    } catch (const Error& error) {
      constexpr int kMostAttempts = 200;  // another run holds it while it asks and appends
      if (attempt == kMostAttempts) throw failure("the budget of these rows cannot be used: " + std::string(error.what()));
      std::this_thread::sleep_for(kPause);
    }
  }
  read_more(file_, known_);
  std::vector<std::vector<RowSpending>> all(rows_.size());
  for (const auto& [key, spent] : known_.entries)
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (key.first == rows_[i] && key.second != run_) all[i].push_back(spent);
  return all;
}

void RowBudget::record(std::uint32_t round, const RowSpending& own) {
  writer_->cut(known_.bytes);  // a line that was left incomplete
  BudgetLine line{.run = run_, .round = round, .updates = written(own.updates)};
  for (const Spending& one : own.examples)
    if (line.examples.empty())
      line.examples = written(one);
    else
      line.or_examples.push_back({written(one)});
  for (const std::string& rows : rows_) {
    line.rows = rows;
    writer_->append(dump_json(term_json(line)));
  }
  writer_->sync();
  writer_.reset();
}

void RowBudget::read_more(const std::filesystem::path& file, Known& known) {
  if (size_of_file(file) < known.bytes) known = {};  // another file
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(known.bytes));
  for (std::string text; std::getline(in, text) && !in.eof(); known.bytes += text.size() + 1) {
    if (known.bytes + text.size() > kMaxBudgetBytes) throw failure("'" + file.string() + "' has more than 1 GiB");
    BudgetLine line;
    const std::string where = "'" + file.string() + "', line " + std::to_string(++known.lines);
    try {
      TermReader().read(parse_terms(text), "line", line);
    } catch (const Error& error) {
      throw failure(where + " is damaged: " + error.what());
    }
    RowSpending spent{.examples = {}, .updates = read_back(line.updates)};
    if (!line.examples.empty()) spent.examples.push_back(read_back(line.examples));
    for (const BudgetHistory& other : line.or_examples) spent.examples.push_back(read_back(other.releases));
    const auto check = [&](const Spending& spending) {
      for (const Releases& one : spending)
        if (!(one.noise_multiplier > 0) || !std::isfinite(one.noise_multiplier) || !(one.rate > 0 && one.rate <= 1))
          throw failure(where + " is damaged: a noise multiplier or a rate is out of range");
    };
    std::ranges::for_each(spent.examples, check);
    check(spent.updates);
    const std::pair key{line.rows, line.run};
    std::uint32_t& last = known.rounds[key];
    if (line.round < last) continue;  // a run made again has the same noise, and is shorter so far
    last = line.round;
    known.entries[key] = std::move(spent);
  }
}

RowBudget::Entries RowBudget::read(const std::filesystem::path& file) {
  Known known;
  read_more(file, known);
  return std::move(known.entries);
}

std::filesystem::path budget_beside(const std::filesystem::path& data) {
  std::filesystem::path path = std::filesystem::absolute(data).lexically_normal();
  if (std::error_code error; std::filesystem::is_directory(path, error))
    path /= "rows.budget";
  else
    path += ".budget";
  const std::filesystem::path folder = state_folder();
  if (can_write_beside(path) || folder.empty()) return path;
  std::filesystem::create_directories(folder);
  return folder / "rows.budget";
}

std::string rows_in(const std::filesystem::path& data) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(data, error)) return file_sha256(data);
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(data))
    if (entry.is_regular_file() && entry.path().extension() != ".budget")
      files.emplace(entry.path().lexically_relative(data).string(), file_sha256(entry.path()));
  Hash hash;
  for (const auto& [name, contents] : files) hash.text(name).text("\n").text(contents);
  return hash.hex();
}

std::string budget_text(const RowBudget::Entries& entries, double delta) {
  std::string text;
  for (const auto& [rows, runs] : by_rows(entries)) {
    text += "rows " + rows.substr(0, 16) + ": " + counted(runs.size(), "run") + "\n";
    for (const Level level : {Level::example, Level::client}) {
      const EpsilonTogether all = epsilon_together(runs, level, delta);
      if (all.accountant == "-") continue;
      text += (level == Level::example ? "  examples: epsilon " : "  clients: epsilon ") + epsilon_text(all.epsilon) +
              " at delta " + number_text(delta) + " (" + all.accountant + ") for all together\n";
    }
  }
  return text.empty()
             ? "nothing was spent\n"
             : text + "rows are told apart by their contents: where one row changed, the others' spending is not added up here\n";
}

std::string budget_json(const RowBudget::Entries& entries, double delta) {
  Json json = Json::array();
  for (const auto& [rows, runs] : by_rows(entries))
    json.push_back({{"rows", rows},
                    {"runs", runs.size()},
                    {"delta", delta},
                    {"example_epsilon", number_or_null(epsilon_together(runs, Level::example, delta).epsilon)},
                    {"client_epsilon", number_or_null(epsilon_together(runs, Level::client, delta).epsilon)}});
  return dump_json(json, 2) + "\n";
}

}  // namespace fedstride
