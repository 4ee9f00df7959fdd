#include "dp/ledger/ledger.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace fedstride {

namespace {

auto hash_of(const LedgerGroups& groups) { return Hash().text(groups_text(groups)).digest(); }

void append(Spending& spending, const LedgerGroup& group) {
  if (!group.goes_on()) merge(spending, exposure(group.runs, group.like()));
}

bool holds(const LedgerGroup& group, ClientId client) {
  return group.clients.empty() || std::ranges::binary_search(group.clients, client);
}

}  // namespace

SpendingTotals::SpendingTotals(std::uint32_t clients, const LedgerStatement* statement)
    : counts_(statement != nullptr && statement->participations),
      unknown_rounds_(statement != nullptr && statement->own_tasks ? statement->each.correlation.horizon : 0),
      histories_(1),
      history_of_(clients, 0) {
  histories_[0].clients = clients;
}

// A client's spending depends on the number of equal sums it was in; the largest such number is charged to all clients. True if
// the group must be charged.
bool SpendingTotals::is_taken_more_often(const LedgerGroup& group) {
  if (group.quantity != Quantity::sums) return true;
  if (taken_runs_.empty()) taken_runs_ = group.runs;
  if (group.runs != taken_runs_) return true;
  std::uint32_t most = most_taken_;
  if (group.clients.empty()) {
    ++taken_by_all_;
    ++most;
  }
  if (!group.clients.empty() && taken_.empty()) taken_.resize(clients());
  for (const ClientId client : group.clients) most = std::max(most, ++taken_[client] + taken_by_all_);
  return std::exchange(most_taken_, most) < most;
}

void SpendingTotals::add(const LedgerGroup& group) {
  if (group.goes_on()) return;
  Releases like = group.like();
  bool is_charged = true;
  if (group.level == Level::client) {
    is_charged = is_taken_more_often(group) || like.correlation.on();
    if (counts_ && like.correlation.on() && group.runs == taken_runs_) like.most = most_taken_;
    if (like.correlation.on()) like.rounds = std::max(like.rounds, unknown_rounds_);
  }
  if (!is_charged) return;
  const Spending spent = exposure(group.runs, like);
  const Spending papers = as_in_papers(group.runs, like);
  const auto charge = [&](History& history) {
    merge(history.spent, spent);
    merge(history.papers, papers);
  };
  if (group.level == Level::client) return charge(updates_);
  if (group.clients.empty()) {
    for (History& history : histories_) charge(history);
    return;
  }
  std::unordered_map<std::uint32_t, std::uint32_t> touched;  // history -> how many of the group's clients have it
  for (const ClientId client : group.clients) ++touched[history_of_[client]];
  std::unordered_map<std::uint32_t, std::uint32_t> moved;  // history -> the new history of some of its clients
  for (const auto& [history, clients] : touched) {
    std::uint32_t charged = history;
    if (clients < histories_[history].clients) {
      charged = static_cast<std::uint32_t>(histories_.size());
      histories_.push_back(histories_[history]);
      histories_[charged].clients = clients;
      histories_[history].clients -= clients;
      moved.emplace(history, charged);
    }
    charge(histories_[charged]);
  }
  if (moved.empty()) return;
  for (const ClientId client : group.clients)
    if (const auto found = moved.find(history_of_[client]); found != moved.end()) history_of_[client] = found->second;
}

LedgerBook::LedgerBook(LedgerHeader header) : header_(std::move(header)), closed_(header_.clients, header_.at(Level::client)) {
  const LedgerStatement* statement = header_.at(Level::client);
  const bool is_named = statement != nullptr && statement->participations && !statement->own_tasks;
  if (is_named && statement->each.correlation.separation > 1) last_of_.resize(header_.clients);
}

void LedgerBook::problem(std::uint32_t round, const std::string& what) {
  constexpr std::size_t kMaxProblems = 1000;  // a forged ledger may cause any number of them
  if (problems_.size() < kMaxProblems) problems_.push_back("round " + std::to_string(round) + ": " + what);
}

std::string LedgerBook::refusal_reason(const LedgerEntry& reservation, bool& replay) const {
  const auto earlier = rounds_.find(reservation.round);
  replay = earlier != rounds_.end();
  if (replay) {
    if (std::string_view(earlier->second.digest) != reservation.digest)
      return "its addresses were already used for another input (digest " + std::string(earlier->second.digest) + ", now " +
             reservation.digest + "): the same noise on two sums would reveal their difference";
    if (earlier->second.reserved != hash_of(reservation.groups))
      return "it was already reserved, with the same digest " + reservation.digest + ", for other releases";
    return {};
  }
  for (const LedgerGroup& group : reservation.groups)
    if (group.each.correlation.on() && group.first + 1 != reservation.round)
      return "its correlated release has number " + std::to_string(group.first) + "; it must be one less than the round's number";
  for (const LedgerGroup& group : reservation.groups) {
    if (group.each.correlation.on() && !correlated_runs_.empty() && group.runs != correlated_runs_)
      return "its noise or clip is not that of earlier rounds; the cost of correlated noise assumes that it is";
    if (std::string why = too_close(reservation.round, group); !why.empty()) return why;
  }
  if (const std::string twice = repeated_address(reservation.groups); !twice.empty())
    return "the address " + twice + " is used for two inputs";
  return breaks_sensitivity(reservation.groups, header_);
}

bool LedgerBook::was_closed_with(const LedgerEntry& closing) const {
  const auto round = rounds_.find(closing.round);
  return round != rounds_.end() && round->second.is_closed && round->second.executed == hash_of(closing.groups);
}

void LedgerBook::add(const LedgerEntry& entry) { entry.closes ? add_closing(entry) : add_reservation(entry); }

void LedgerBook::add_reservation(const LedgerEntry& entry) {
  bool replay = false;
  const std::string why = refusal_reason(entry, replay);
  if (!why.empty()) problem(entry.round, why);
  if (replay && why.empty()) return;
  if (replay) {  // the contradicting releases are also spent
    for (const LedgerGroup& group : entry.groups) closed_.add(group);
    return;
  }
  for (const LedgerGroup& group : entry.groups)
    if (group.goes_on() && !is_charged(entry.round, group))
      problem(entry.round, "it continues a pass over the clients whose first round charged no such release");
  for (const LedgerGroup& group : entry.groups) {
    if (!group.each.correlation.on()) continue;
    if (correlated_runs_.empty()) correlated_runs_ = group.runs;
    if (!is_separated()) continue;
    for (const ClientId client : group.clients) last_of_[client] = std::max(last_of_[client], entry.round);
  }
  rounds_.emplace(entry.round, Round{.digest = std::pmr::string(entry.digest, memory_.get()), .reserved = hash_of(entry.groups)});
  open_[entry.round] = entry.groups;
}

std::string LedgerBook::too_close(std::uint32_t round, const LedgerGroup& group) const {
  if (!is_separated() || !group.each.correlation.on()) return {};
  if (group.clients.empty()) return "its sum names no clients, so it is unknown how far apart a client's sums are";
  if (!rounds_.empty() && rounds_.rbegin()->first > round)
    return "it was reserved after round " + std::to_string(rounds_.rbegin()->first) +
           "; with a minimum separation, rounds must be reserved in order";
  for (const ClientId client : group.clients)
    if (last_of_[client] > 0 && round - last_of_[client] < group.each.correlation.separation)
      return "client " + std::to_string(client) + " is in its sum and in that of round " + std::to_string(last_of_[client]) +
             "; minimum-separation is " + std::to_string(group.each.correlation.separation);
  return {};
}

bool LedgerBook::is_charged(std::uint32_t round, const LedgerGroup& group) const {
  const std::uint64_t at = group.first % lots_an_epoch(group.each.rate);  // position in the pass
  if (group.first + 1 != round || !rounds_.contains(static_cast<std::uint32_t>(round - at))) return false;
  return std::ranges::any_of(spent_by_update(), [&](const Releases& some) {
    return some.sampling == group.each.sampling && some.rate == group.each.rate && !group.runs.empty() &&
           some.noise_multiplier <= group.runs.front().noise_multiplier;
  });
}

void LedgerBook::add_closing(const LedgerEntry& entry) {
  const auto reserved = open_.find(entry.round);
  const LedgerGroups& executed = entry.as_reserved && reserved != open_.end() ? reserved->second : entry.groups;
  if (reserved == open_.end())
    problem(entry.round, rounds_.contains(entry.round) ? "it was closed twice" : "it was closed but never reserved");
  else if (const std::string more = excess(executed, reserved->second); !more.empty())
    problem(entry.round, more);
  if (const std::string weight = breaks_sensitivity(executed, header_); !weight.empty()) problem(entry.round, weight);
  for (const LedgerGroup& group : latest_) closed_.add(group);
  latest_ = executed;
  latest_round_ = entry.round;
  if (reserved == open_.end()) return;
  Round& round = rounds_.at(entry.round);
  round.executed = hash_of(executed);
  round.is_closed = true;
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
  if (const LedgerStatement* statement = header_.at(Level::client); statement != nullptr && statement->participations)
    return totals().updates();
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
      throw failure(name + " is not the one the run recorded: its line " + std::to_string(mark.lines) + " has the chain value " +
                    reader.mark().head + ", not " + mark.head);
  }
  if (reader.mark().lines < mark.lines)
    throw failure(name + " was truncated: it has " + std::to_string(reader.mark().lines) + " lines, but the run recorded " +
                  std::to_string(mark.lines));
  if (!book) throw failure(name + " has no lines");
  return {.book = std::move(*book), .mark = reader.mark(), .size = reader.end(), .torn = reader.torn()};
}

namespace {

Error of_round(std::uint32_t round, const std::string& what) {
  return failure("privacy ledger, round " + std::to_string(round) + ": " + what);
}

}  // namespace

Ledger::Ledger(LedgerWriter writer, LedgerBook book, LedgerMark mark, std::string_view key)
    : writer_(std::move(writer)), book_(std::move(book)), written_(mark), synced_(std::move(mark)), key_(key) {}

Ledger Ledger::create(const std::filesystem::path& path, const LedgerHeader& header, std::string_view key) {
  const std::string text = header_text(header);
  Ledger ledger(LedgerWriter::create(path), LedgerBook(read_header(text)), {}, key);
  ledger.append(text);
  ledger.sync();
  return ledger;
}

Ledger Ledger::open(const std::filesystem::path& path, const LedgerMark& mark, std::string_view key) {
  LedgerWriter writer = LedgerWriter::open(path);
  LedgerReading reading = read_ledger(path, mark, key);
  if (!reading.book.problems().empty())
    throw failure("the ledger '" + path.string() + "' contradicts itself: " + reading.book.problems().front());
  writer.cut(reading.size);
  Ledger ledger(std::move(writer), std::move(reading.book), std::move(reading.mark), key);
  ledger.sync();  // the lines just read may not be on disk yet
  return ledger;
}

void Ledger::append(std::string_view text) {
  process_.require();
  if (text.size() > kMaxLedgerLineBytes - 100)
    throw failure("a line of the privacy ledger would have " + std::to_string(text.size()) + " bytes; at most " +
                  std::to_string(kMaxLedgerLineBytes - 100) +
                  " are supported: use fewer clients of different sizes, or a schedule with fewer steps");
  const std::string value = chain_value(written_.head, text, key_);
  writer_.append(chained(text, value));
  written_ = {.head = value, .lines = written_.lines + 1};
}

void Ledger::sync() {
  writer_.sync();
  synced_ = written_;
}

void Ledger::checked(std::uint32_t round, const LedgerGroups& groups) const {
  if (const std::string wrong = malformed(groups, header()); !wrong.empty()) throw of_round(round, wrong);
}

void Ledger::reserve(std::uint32_t round, const std::string& digest, LedgerGroups groups) {
  LedgerEntry entry{.round = round, .digest = digest, .groups = canonical(std::move(groups), header().clients)};
  if (entry.groups.empty()) return;
  checked(round, entry.groups);
  bool replay = false;
  if (const std::string why = book_.refusal_reason(entry, replay); !why.empty()) throw of_round(round, why);
  if (!replay) {
    append(entry_text(entry, header()));
    book_.add(entry);
  }
  sync();
}

void Ledger::close(std::uint32_t round, LedgerGroups executed) {
  LedgerEntry entry{.closes = true, .round = round, .groups = canonical(std::move(executed), header().clients)};
  const auto reserved = book_.open().find(round);
  if (reserved == book_.open().end() && (entry.groups.empty() || book_.was_closed_with(entry))) return;
  checked(round, entry.groups);
  if (reserved != book_.open().end() && reserved->second == entry.groups) {
    entry.as_reserved = true;
    entry.groups.clear();
  }
  append(entry_text(entry, header()));
  const std::size_t before = book_.problems().size();
  book_.add(entry);
  if (book_.problems().size() == before) return;
  sync();
  throw failure("privacy ledger, " + book_.problems().back());
}

}  // namespace fedstride
