#include "sweep/results/accounting.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "core/build_info.hpp"
#include "core/error.hpp"
#include "core/files.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "dp/ledger/ledger.hpp"
#include "dp/ledger/statement.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;
using Accounts = std::map<std::uint32_t, Numbers>;

constexpr int kFormat = 1;  // format of accounting.json; increment when an accountant's value changes

std::string metric(Level level, std::string_view accountant) {
  std::string name(level == Level::client ? "client_epsilon_by_" : "epsilon_by_");
  for (const char letter : accountant) name += letter == '-' ? '_' : letter;
  return name;
}

void feed(Hash& hash, const Spending& spending) {
  hash.value(spending.size());
  for (const Releases& some : spending) {
    // Structured bindings list all members, so forgetting a new one here is a compile error.
    const auto& [sampling, neighbours, rate, noise, count, passes, adaptive, law, shares, correlation, rounds, most, rows] = some;
    const auto& [mechanism, separation, horizon, restart, coefficients] = correlation;
    const auto& [step, dimension, owners] = shares;
    for (const int choice : {static_cast<int>(sampling), static_cast<int>(neighbours), static_cast<int>(law),
                             static_cast<int>(mechanism), static_cast<int>(adaptive)})
      hash.value(choice);
    for (const double number : {rate, noise, step}) hash.value(number);
    for (const std::uint64_t number : {count, passes, rounds, most, rows, separation, horizon, restart, dimension, owners})
      hash.value(number);
    hash.value(coefficients.size());
    for (const double coefficient : coefficients) hash.value(coefficient);
  }
}

/// Returns epsilon by every accountant at one level. Results are cached in the process, since cells that differ only in seed or
/// learning rate often have equal spending.
Numbers ask_all(Level level, double delta, const SpendingTotals& totals) {
  std::vector<const Spending*> histories;
  if (level == Level::client) {
    histories.push_back(&totals.updates());
  } else {
    histories.resize(totals.histories());
    for (ClientId client = 0; client < totals.clients(); ++client)
      histories[totals.history_of(client)] = &totals.examples(client);
  }
  Hash hash;
  hash.value(static_cast<int>(level)).value(delta);
  for (const Spending* history : histories) feed(hash, *history);

  static std::mutex mutex;
  static std::map<std::string, Numbers> known;
  const std::string key = hash.hex();
  const std::scoped_lock lock(mutex);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  Numbers numbers;
  for_each_part<Accountant>([&](const auto& part) {
    const Accountant accountant = part;
    for (const Spending* history : histories)
      if (!unsound_by(accountant, *history).empty()) return;
    double epsilon = 0;
    if (level == Level::client)
      epsilon = histories[0]->empty() ? 0 : epsilon_by(accountant, *histories[0], delta).value;
    else
      epsilon = std::ranges::max(history_epsilons(totals, accountant, delta, true));
    if (std::isfinite(epsilon)) numbers[metric(level, part.kName)] = epsilon;
  });
  constexpr std::size_t kMaxKnown = 100'000;
  if (known.size() >= kMaxKnown) known.clear();
  return known[key] = numbers;
}

Numbers ask_all(const LedgerBook& book) {
  const SpendingTotals totals = book.totals();
  Numbers numbers;
  for (const LedgerStatement& promised : book.header().statements) {
    numbers.merge(ask_all(promised.level, promised.delta, totals));
  }
  return numbers;
}

Accounts compute(const fs::path& path, const LedgerMark& mark, std::string_view key, std::uint32_t rounds) {
  const auto wanted = accounted_rounds(rounds);
  LedgerReader reader(path, key);
  std::optional<LedgerBook> book;
  Accounts accounts;
  std::uint32_t round = 0;  // the latest round for which a reservation has been read
  bool marked = mark.lines == 0;
  const auto look = [&] {
    if (std::ranges::binary_search(wanted, round)) accounts[round] = ask_all(*book);
  };
  for (std::string_view text = reader.next(); !text.empty(); text = reader.next()) {
    if (!book) {
      book.emplace(read_header(text));
    } else {
      const LedgerEntry entry = read_entry(text, book->header());
      if (!entry.closes && entry.round > round) {
        look();
        round = entry.round;
      }
      book->add(entry);
    }
    marked = marked || reader.mark() == mark;
  }
  if (!book || !marked)
    throw failure("the ledger '" + path.string() + "' does not match summary.json: it was truncated or replaced");
  look();
  return accounts;
}

std::optional<Accounts> read_kept(const fs::path& path, const LedgerMark& mark, std::uint32_t rounds) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  try {
    const Json json = parse_json_or_throw(read_file(path, std::uint64_t{1} << 22));
    if (json.at("format") != kFormat || json.at("version") != build_info().version || json.at("ledger_head") != mark.head ||
        json.at("rounds_done") != rounds)
      return std::nullopt;
    Accounts accounts;
    for (const auto& [round, numbers] : json.at("rounds").items())
      for (const auto& [name, value] : numbers.items())
        accounts[static_cast<std::uint32_t>(std::stoul(round))][name] = value.get<double>();
    return accounts;
  } catch (const std::exception&) {
    return std::nullopt;  // damaged: recompute
  }
}

void keep(const fs::path& path, const LedgerMark& mark, std::uint32_t rounds, const Accounts& accounts) {
  Json json{{"format", kFormat}, {"version", build_info().version}, {"ledger_head", mark.head}, {"rounds_done", rounds}};
  Json& all = json["rounds"] = Json::object();
  for (const auto& [round, numbers] : accounts)
    for (const auto& [name, value] : numbers) all[std::to_string(round)][name] = value;
  try {
    write_file(path, dump_json(json, 2) + "\n");
  } catch (const Error&) {
    // In a read-only folder, values are recomputed next time.
  }
}

}  // namespace

std::vector<std::uint32_t> accounted_rounds(std::uint32_t rounds) {
  const std::uint32_t count = std::min(rounds, kMaxAccountedRounds);
  std::vector<std::uint32_t> wanted;
  for (std::uint64_t i = 1; i <= count; ++i) wanted.push_back(static_cast<std::uint32_t>(i * rounds / count));
  return wanted;
}

std::map<std::uint32_t, Numbers> account(const fs::path& run, const LedgerMark& mark, std::uint32_t rounds, bool secret) {
  if (auto kept = read_kept(run / "accounting.json", mark, rounds)) return *kept;
  const std::string key = secret ? ledger_key(run) : std::string();
  if (secret && key.empty()) return {};
  Accounts accounts = compute(run / "ledger.jsonl", mark, key, rounds);
  keep(run / "accounting.json", mark, rounds, accounts);
  return accounts;
}

}  // namespace fedstride
