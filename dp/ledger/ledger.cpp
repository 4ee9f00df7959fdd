#include "dp/ledger/ledger.hpp"

#include "core/error.hpp"

namespace fedstride {
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
