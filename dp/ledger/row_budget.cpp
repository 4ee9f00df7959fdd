#include "dp/ledger/row_budget.hpp"

#include <chrono>
#include <cmath>
#include <thread>

#include "core/error.hpp"
#include "core/files.hpp"
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
  static constexpr auto kTerms = std::tuple{
      Term{"each", &BudgetRelease::each}, Term{"noise_multiplier", &BudgetRelease::noise, true},
      Term{"count", &BudgetRelease::count, true}, Term{"rounds", &BudgetRelease::rounds}, Term{"most", &BudgetRelease::most}};
};

struct BudgetLine {
  std::string rows = {};
  std::string run = {};
  std::uint32_t round = 0;
  std::vector<BudgetRelease> examples = {};
  std::vector<BudgetRelease> updates = {};
  bool operator==(const BudgetLine&) const = default;
  static constexpr auto kTerms = std::tuple{Term{"rows", &BudgetLine::rows, true}, Term{"run", &BudgetLine::run, true},
                                            Term{"round", &BudgetLine::round, true}, Term{"examples", &BudgetLine::examples},
                                            Term{"updates", &BudgetLine::updates}};
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

/// Epsilon by the tightest accountant with a bound, and its name; infinite if none has one.
std::pair<double, std::string> epsilon_of(const Spending& spending, double delta) {
  if (spending.empty()) return {0, "-"};
  for (const std::string_view name : {Tight::kName, Rdp::kName}) {
    const auto accountant = make_part<Accountant>("accountant", name);
    if (unsound_by(accountant, spending).empty()) return {epsilon_by(accountant, spending, delta).value, std::string(name)};
  }
  return {std::numeric_limits<double>::infinity(), "none"};
}

/// By rows: the number of runs and what all of them spent.
std::map<std::string, std::pair<std::size_t, RowSpending>> by_rows(const RowBudget::Entries& entries) {
  std::map<std::string, std::pair<std::size_t, RowSpending>> all;
  for (const auto& [key, spent] : entries) {
    auto& [runs, total] = all[key.first];
    ++runs;
    merge(total.examples, spent.examples);
    merge(total.updates, spent.updates);
  }
  return all;
}

}  // namespace

RowBudget::RowBudget(std::filesystem::path file, std::string rows, std::string run)
    : file_(std::move(file)), rows_(std::move(rows)), run_(std::move(run)) {}

RowSpending RowBudget::others() {
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
  RowSpending all;
  for (const auto& [key, spent] : read(file_)) {
    if (key.first != rows_ || key.second == run_) continue;
    merge(all.examples, spent.examples);
    merge(all.updates, spent.updates);
  }
  return all;
}

void RowBudget::record(std::uint32_t round, const RowSpending& own) {
  const std::string text = read_file(file_, kMaxBudgetBytes);
  if (!text.empty() && !text.ends_with('\n')) writer_->cut(text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1);
  writer_->append(dump_json(term_json(BudgetLine{rows_, run_, round, written(own.examples), written(own.updates)})));
  writer_->sync();
  writer_.reset();
}

RowBudget::Entries RowBudget::read(const std::filesystem::path& file) {
  Entries entries;
  const std::string text = read_file(file, kMaxBudgetBytes);
  std::size_t number = 0;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    BudgetLine line;
    const std::string where = "'" + file.string() + "', line " + std::to_string(++number);
    try {
      TermReader().read(parse_terms(std::string_view(text).substr(begin, end - begin)), "line", line);
    } catch (const Error& error) {
      throw failure(where + " is damaged: " + error.what());
    }
    RowSpending spent{read_back(line.examples), read_back(line.updates)};
    for (const Spending* spending : {&spent.examples, &spent.updates})
      for (const Releases& one : *spending)
        if (!(one.noise_multiplier > 0) || !std::isfinite(one.noise_multiplier) || !(one.rate > 0 && one.rate <= 1))
          throw failure(where + " is damaged: a noise multiplier or a rate is out of range");
    entries[{line.rows, line.run}] = std::move(spent);
  }
  return entries;
}

std::filesystem::path budget_beside(const std::filesystem::path& data) {
  std::filesystem::path path = std::filesystem::absolute(data).lexically_normal();
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return path / "rows.budget";
  path += ".budget";
  return path;
}

std::string budget_text(const RowBudget::Entries& entries, double delta) {
  std::string text;
  for (const auto& [rows, all] : by_rows(entries)) {
    const auto& [runs, total] = all;
    text += "rows " + rows.substr(0, 16) + ": " + counted(runs, "run") + "\n";
    for (const auto& [level, spending] : {std::pair("examples", &total.examples), std::pair("clients", &total.updates)}) {
      if (spending->empty()) continue;
      const auto [epsilon, accountant] = epsilon_of(*spending, delta);
      text += "  " + std::string(level) + ": epsilon " + epsilon_text(epsilon) + " at delta " + number_text(delta) + " (" +
              accountant + ") for all together\n";
    }
  }
  return text.empty()
             ? "nothing was spent\n"
             : text + "rows are told apart by their contents: where one row changed, the others' spending is not added up here\n";
}

std::string budget_json(const RowBudget::Entries& entries, double delta) {
  Json json = Json::array();
  for (const auto& [rows, all] : by_rows(entries)) {
    const auto& [runs, total] = all;
    json.push_back({{"rows", rows},
                    {"runs", runs},
                    {"delta", delta},
                    {"example_epsilon", number_or_null(epsilon_of(total.examples, delta).first)},
                    {"client_epsilon", number_or_null(epsilon_of(total.updates, delta).first)}});
  }
  return dump_json(json, 2) + "\n";
}

}  // namespace fedstride
