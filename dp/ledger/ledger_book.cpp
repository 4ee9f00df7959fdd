#include "dp/ledger/ledger_book.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "dp/ledger/ledger_check.hpp"

namespace fedstride {
namespace {

std::string hash_of(const LedgerGroups& groups) { return Hash().text(groups_text(groups)).hex(); }

void append(Spending& spending, const LedgerGroup& group) { merge(spending, exposure(group.runs, group.like())); }

bool holds(const LedgerGroup& group, ClientId client) {
  return group.clients.empty() || std::ranges::binary_search(group.clients, client);
}

}  // namespace

LedgerBook::LedgerBook(LedgerHeader header) : header_(std::move(header)), closed_(header_.clients) {}

void LedgerBook::problem(std::uint32_t round, const std::string& what) {
  constexpr std::size_t kMaxProblems = 1000;  // a forged ledger may cause any number
  if (problems_.size() < kMaxProblems) problems_.push_back("round " + std::to_string(round) + ": " + what);
}

std::string LedgerBook::refuses(const LedgerEntry& reservation, bool& replay) const {
  const auto earlier = rounds_.find(reservation.round);
  replay = earlier != rounds_.end();
  if (replay) {
    if (earlier->second.digest != reservation.digest)
      return "its addresses were used before for another input (digest " + earlier->second.digest + ", now " +
             reservation.digest + "): the same noise under another sum would give both away";
    if (earlier->second.reserved != hash_of(reservation.groups))
      return "it was reserved before, with the same digest, for other releases";
    return {};
  }
  if (const std::string twice = repeated_address(reservation.groups); !twice.empty())
    return "the address " + twice + " stands there for two inputs";
  return breaks_sensitivity(reservation.groups, header_);
}

bool LedgerBook::closed_alike(const LedgerEntry& closing) const {
  const auto round = rounds_.find(closing.round);
  return round != rounds_.end() && !round->second.executed.empty() && round->second.executed == hash_of(closing.groups);
}

void LedgerBook::add(const LedgerEntry& entry) { entry.closes ? add_closing(entry) : add_reservation(entry); }

void LedgerBook::add_reservation(const LedgerEntry& entry) {
  bool replay = false;
  const std::string why = refuses(entry, replay);
  if (!why.empty()) problem(entry.round, why);
  if (replay && why.empty()) return;
  if (replay) {  // the contradicting releases are spent as well
    for (const LedgerGroup& group : entry.groups) closed_.add(group);
    return;
  }
  rounds_[entry.round] = {.digest = entry.digest, .reserved = hash_of(entry.groups), .executed = {}};
  open_[entry.round] = entry.groups;
}

void LedgerBook::add_closing(const LedgerEntry& entry) {
  const auto reserved = open_.find(entry.round);
  const LedgerGroups& executed = entry.as_reserved && reserved != open_.end() ? reserved->second : entry.groups;
  if (reserved == open_.end())
    problem(entry.round, rounds_.contains(entry.round) ? "it was closed twice" : "it was closed, but never reserved");
  else if (const std::string more = excess(executed, reserved->second); !more.empty())
    problem(entry.round, more);
  if (const std::string weight = breaks_sensitivity(executed, header_); !weight.empty()) problem(entry.round, weight);
  for (const LedgerGroup& group : latest_) closed_.add(group);
  latest_ = executed;
  latest_round_ = entry.round;
  if (reserved == open_.end()) return;
  rounds_[entry.round].executed = hash_of(executed);
  open_.erase(reserved);
}

Spending LedgerBook::spent(ClientId client) const {
  if (client >= header_.clients)
    throw usage_error("client " + std::to_string(client) + " is not in the ledger; the last is " +
                      std::to_string(header_.clients - 1));
  Spending spending = closed_.examples(client);
  for_each_recent(kAllRounds, [&](const LedgerGroup& group) {
    if (group.level == Level::example && holds(group, client)) append(spending, group);
  });
  return spending;
}

Spending LedgerBook::spent_by_update() const {
  Spending spending = closed_.updates();
  for_each_recent(kAllRounds, [&](const LedgerGroup& group) {
    if (group.level == Level::client) append(spending, group);
  });
  return spending;
}

SpendingTotals LedgerBook::before(std::uint64_t round) const {
  SpendingTotals totals = closed_;
  for_each_recent(round, [&](const LedgerGroup& group) { totals.add(group); });
  return totals;
}

void LedgerBook::for_each_recent(std::uint64_t before, function_ref<void(const LedgerGroup&)> visit) const {
  if (latest_round_ < before)
    for (const LedgerGroup& group : latest_) visit(group);
  for (const auto& [round, groups] : open_)
    if (round < before)
      for (const LedgerGroup& group : groups) visit(group);
}

LedgerReading read_ledger(const std::filesystem::path& path, const LedgerMark& mark, std::string_view key) {
  LedgerReader reader(path, key);
  const std::string name = "the ledger '" + path.string() + "'";
  std::optional<LedgerBook> book;
  for (std::string_view text = reader.next(); !text.empty(); text = reader.next()) {
    try {
      if (!book) {
        book.emplace(read_header(text));
      } else {
        book->add(read_entry(text, book->header()));
      }
    } catch (const Error& error) {
      throw failure("line " + std::to_string(reader.mark().lines) + " of " + name + ": " + error.what());
    }
    if (reader.mark().lines == mark.lines && reader.mark().head != mark.head)
      throw failure(name + " is another one than the run remembers: its line " + std::to_string(mark.lines) +
                    " has the chain value " + reader.mark().head + ", not " + mark.head);
  }
  if (reader.mark().lines < mark.lines)
    throw failure(name + " was cut: it has " + std::to_string(reader.mark().lines) + " lines, the run remembers " +
                  std::to_string(mark.lines));
  if (!book) throw failure(name + " has no line");
  return {.book = std::move(*book), .mark = reader.mark(), .size = reader.end(), .torn = reader.torn()};
}

}  // namespace fedstride
