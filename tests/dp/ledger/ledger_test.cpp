#include "dp/ledger/ledger.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <functional>

#include "core/files.hpp"
#include "core/text.hpp"
#include "dp/correlations/correlation.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::ledger_test {
namespace {

LedgerHeader header() {
  return {.clients = 4,
          .statements = {{.level = Level::example, .accountant = "rdp", .delta = 1e-5, .epsilon = 3},
                         {.level = Level::client,
                          .accountant = "rdp",
                          .delta = 1e-6,
                          .largest_weight = 2,
                          .bound = 1.5,
                          .noise_at = "central"}}};
}

LedgerGroup releases(std::uint64_t first, std::uint64_t count, std::vector<ClientId> clients = {}, double multiplier = 1.1) {
  return {.clients = std::move(clients), .each = {.rate = 0.1}, .first = first, .runs = {{multiplier, 2, count}}};
}

std::uint64_t count_of(const Spending& spending) {
  std::uint64_t count = 0;
  for (const Releases& some : spending) count += some.count;
  return count;
}

/// The message of the failure that the action ends in names these.
void check_fails(const std::function<void()>& action, std::initializer_list<std::string_view> parts) {
  const std::string message = error_of_kind(Error::Kind::failure, action);
  CAPTURE(message);
  CHECK(names(message, parts));
}

/// A ledger of three closed rounds of 10 releases a client; the mark covers all of it.
LedgerMark write_three_rounds(const std::string& path, std::string_view key = {}) {
  Ledger ledger = Ledger::create(path, header(), key);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    const auto groups = LedgerGroups{releases((round - 1) * 10, 10)};
    ledger.reserve(round, "digest" + std::to_string(round), groups);
    ledger.close(round, groups);
  }
  ledger.sync();
  return ledger.mark();
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  const std::string text = read_file(path);
  for (const auto line : split(text, '\n')) lines.emplace_back(line);
  lines.pop_back();
  return lines;
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
  std::ofstream file(path, std::ios::trunc);
  for (const auto& line : lines) file << line << '\n';
}

TEST_CASE("closed rounds count as executed, a reservation that was never closed in full") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  {
    Ledger ledger = Ledger::create(path, header());
    ledger.reserve(1, "a", {releases(0, 20, {0, 1, 2, 3})});
    ledger.close(1, {releases(0, 20, {0, 1, 2}), releases(0, 7, {3})});
    ledger.reserve(2, "b", {releases(20, 20, {0, 3})});
    CHECK(count_of(ledger.spent(0)) == 40);
  }  // killed before round 2 was closed
  const Ledger ledger = Ledger::open(path);
  CHECK(ledger.header() == header());
  CHECK(count_of(ledger.spent(0)) == 40);
  CHECK(count_of(ledger.spent(1)) == 20);
  CHECK(count_of(ledger.spent(3)) == 27);
  REQUIRE(ledger.spent(3).size() == 1);
  CHECK(ledger.spent(3)[0].noise_multiplier == 1.1);
  CHECK(ledger.spent(3)[0].rate == 0.1);
}

TEST_CASE("both levels are kept apart") {
  const test::TemporaryFolder folder;
  Ledger ledger = Ledger::create(folder / "ledger.jsonl", header());
  LedgerGroup updates = releases(0, 1, {}, 5);
  updates.level = Level::client;
  updates.largest_weight = 2;
  ledger.reserve(1, "a", {releases(0, 4, {2}), updates});
  ledger.close(1, {releases(0, 4, {2}), updates});
  CHECK(count_of(ledger.spent(2)) == 4);
  CHECK(count_of(ledger.spent(1)) == 0);
  CHECK(count_of(ledger.spent_by_update()) == 1);
  CHECK(ledger.spent_by_update()[0].noise_multiplier == 5);
}

TEST_CASE("a round that is done again is counted once") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  LedgerMark early;
  {
    Ledger ledger = Ledger::create(path, header());
    ledger.reserve(1, "a", {releases(0, 10)});
    early = ledger.mark();
    ledger.close(1, {releases(0, 10)});
    ledger.reserve(2, "b", {releases(10, 10)});
  }
  const auto before = lines_of(path);
  Ledger ledger = Ledger::open(path, early);
  ledger.reserve(1, "a", {releases(0, 10)});
  ledger.close(1, {releases(0, 10, {0, 1}), releases(0, 10, {2, 3})});  // the same, grouped otherwise
  ledger.reserve(2, "b", {releases(10, 10, {3, 1}), releases(10, 10, {0, 2})});
  CHECK(lines_of(path) == before);
  CHECK(count_of(ledger.spent(0)) == 20);
}

TEST_CASE("the same address for another input is refused and leaves the ledger as it was") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  write_three_rounds(path);
  const std::string before = read_file(path);
  Ledger ledger = Ledger::open(path);
  CHECK_FAILURE(ledger.reserve(2, "another", {releases(10, 10)}), "round 2", "digest2", "another");
  CHECK_FAILURE(ledger.reserve(2, "digest2", {releases(10, 11)}), "round 2", "digest2");
  CHECK_FAILURE(ledger.reserve(4, "d", {releases(30, 10, {1}), releases(35, 1, {1}, 2)}), "round 4", "client 1", "release 35");
  CHECK_FAILURE(ledger.reserve(4, "d", {releases(30, 10), releases(35, 1, {1}, 2)}), "round 4", "client 1", "release 35");
  CHECK(read_file(path) == before);
  CHECK(count_of(ledger.spent(1)) == 30);
}

TEST_CASE("what was executed beyond the reservation is an error, and is counted") {
  const std::function<LedgerGroups()> cases[] = {
      [] { return LedgerGroups{releases(0, 11)}; },           // repeated
      [] { return LedgerGroups{releases(0, 10, {}, 1.0)}; },  // less noise
      [] { return LedgerGroups{releases(5, 10)}; },           // other addresses
      [] {
        return LedgerGroups{releases(0, 10), releases(9, 1, {1}, 3)};
      },
      [] {
        auto group = releases(0, 10);
        group.each.rate = 0.2;
        return LedgerGroups{group};
      },
  };
  for (const auto& executed : cases) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "ledger.jsonl";
    Ledger ledger = Ledger::create(path, header());
    ledger.reserve(1, "a", {releases(0, 10)});
    CHECK_THROWS_AS(ledger.close(1, executed()), Error);
    CHECK(count_of(ledger.spent(1)) >= 10);
    CHECK(read_ledger(path).book.problems().size() == 1);
    CHECK_THROWS_AS(Ledger::open(path), Error);
  }
}

TEST_CASE("more noise than reserved, fewer releases, or none are what they are") {
  const test::TemporaryFolder folder;
  Ledger ledger = Ledger::create(folder / "ledger.jsonl", header());
  ledger.reserve(1, "a", {releases(0, 10)});
  ledger.close(1, {releases(0, 4, {0}), releases(0, 10, {1}, 9)});
  CHECK(count_of(ledger.spent(0)) == 4);
  CHECK(ledger.spent(1)[0].noise_multiplier == 9);
  CHECK(ledger.spent(2).empty());
}

TEST_CASE("schedules: what was executed is compared release by release") {
  const test::TemporaryFolder folder;
  Ledger ledger = Ledger::create(folder / "ledger.jsonl", header());
  LedgerGroup group{.each = {.rate = 0.1}, .first = 100, .runs = {{1, 3, 5}, {2, 2, 5}, {3, 1, 5}}};
  ledger.reserve(1, "a", {group});
  LedgerGroup part{.clients = {0}, .each = {.rate = 0.1}, .first = 103, .runs = {{1, 3, 2}, {2, 2, 5}, {3, 1, 1}}};
  LedgerGroup early{.clients = {1}, .each = {.rate = 0.1}, .first = 103, .runs = {{1, 3, 2}, {2, 2, 4}, {3, 1, 2}}};
  ledger.close(1, {part, early});  // more noise earlier is no harm
  LedgerGroup late{.each = {.rate = 0.1}, .first = 115, .runs = {{1, 3, 5}, {2, 2, 5}}};
  ledger.reserve(2, "b", {late});
  late.runs = {{1, 3, 6}, {2, 2, 4}};
  CHECK_FAILURE(ledger.close(2, {late}), "round 2", "noise multiplier", "1", "2");
}

TEST_CASE("weights that break the sensitivity, and groups the header knows nothing of, are refused") {
  const test::TemporaryFolder folder;
  Ledger ledger = Ledger::create(folder / "ledger.jsonl", header());
  const auto refused = [&](const std::function<void(LedgerGroup&)>& change, std::initializer_list<std::string_view> parts) {
    LedgerGroup group = releases(0, 1);
    change(group);
    check_fails([&] { ledger.reserve(1, "a", {group}); }, parts);
  };
  refused(
      [](LedgerGroup& g) {
        g.level = Level::client;
        g.largest_weight = 2.5;
      },
      {"weight", "2.5", "2"});
  refused(
      [](LedgerGroup& g) {
        g.level = Level::client;
        g.clients = {1};
      },
      {"client 1"});
  refused([](LedgerGroup& g) { g.clients = {4}; }, {"client 4", "3"});
  refused([](LedgerGroup& g) { g.each.rate = 0; }, {"sampling rate", "0"});
  refused([](LedgerGroup& g) { g.runs[0].noise_multiplier = 0; }, {"noise multiplier", "0"});
  refused([](LedgerGroup& g) { g.each.neighbours = Neighbours::replace_one; }, {"replace-one", "add-remove"});
  CHECK(count_of(ledger.spent(0)) == 0);
  CHECK(lines_of(folder / "ledger.jsonl").size() == 1);
}

TEST_CASE("a line edited, dropped, repeated, swapped or added breaks the chain") {
  for (const std::string_view key : {std::string_view(), std::string_view("0123456789abcdef0123456789abcdef")}) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "ledger.jsonl";
    const LedgerMark mark = write_three_rounds(path, key);
    const auto lines = lines_of(path);
    REQUIRE(lines.size() == 7);
    CHECK(count_of(read_ledger(path, mark, key).book.spent(2)) == 30);
    const auto broken = [&](std::vector<std::string> changed, std::initializer_list<std::string_view> parts) {
      write_lines(path, changed);
      check_fails([&] { read_ledger(path, mark, key); }, parts);
      check_fails([&] { Ledger::open(path, mark, key); }, parts);
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string here = "line " + std::to_string(i + 1);
      auto edited = lines;
      edited[i].replace(edited[i].find("\"round\"") == std::string::npos ? 3 : edited[i].find(":", 20) + 1, 1, "7");
      broken(edited, {here});
      auto dropped = lines;
      dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(i));
      i + 1 < lines.size() ? broken(dropped, {here}) : broken(dropped, {"6", "7"});
      auto repeated = lines;
      repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
      broken(repeated, {"line " + std::to_string(i + 2)});
    }
    auto swapped = lines;
    std::swap(swapped[3], swapped[5]);
    broken(swapped, {"line 4"});
    auto added = lines;
    added.emplace_back("{\"kind\":\"close\",\"round\":9,\"executed\":[]}");
    broken(added, {"line 8"});
    broken({}, {"0", "7"});
  }
}

TEST_CASE("a ledger written anew from the start does not fit the mark, nor, with a key, itself") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  const LedgerMark mark = write_three_rounds(path);
  std::filesystem::remove(path);
  Ledger::create(path, header()).reserve(1, "other", {releases(0, 1)});
  {
    Ledger ledger = Ledger::open(path);
    for (std::uint32_t round = 2; round < 9; ++round) ledger.reserve(round, "other", {releases(round, 1)});
  }
  CHECK_FAILURE(read_ledger(path, mark), "line " + std::to_string(mark.lines), mark.head);
  CHECK(read_ledger(path).book.rounds() == 8);
  CHECK_FAILURE(read_ledger(path, {}, "a key"), "line 1", "key");
}

TEST_CASE("a line torn by a power cut goes, and what it closed counts in full") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  LedgerMark mark;
  {
    Ledger ledger = Ledger::create(path, header());
    ledger.reserve(1, "a", {releases(0, 10)});
    ledger.close(1, {releases(0, 3)});
    mark = ledger.mark();
    CHECK(mark.lines == 2);  // the closing line is not on the disk for certain
    CHECK(count_of(ledger.spent(0)) == 3);
  }
  const std::string whole = read_file(path);
  const std::size_t two_lines = whole.find('\n', whole.find('\n') + 1) + 1;
  for (std::size_t size = whole.size() - 1; size >= two_lines; --size) {
    std::filesystem::resize_file(path, size);
    CHECK(read_ledger(path, mark).torn == size - two_lines);
    const Ledger ledger = Ledger::open(path, mark);
    CHECK(count_of(ledger.spent(0)) == 10);
    CHECK(read_file(path).size() == two_lines);
    std::ofstream(path, std::ios::trunc) << whole;
  }
  std::filesystem::resize_file(path, two_lines - 1);
  CHECK_FAILURE(Ledger::open(path, mark), "1", "2");
}

TEST_CASE("one process writes, into a file that was not there") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  const Ledger ledger = Ledger::create(path, header());
  CHECK_FAILURE(Ledger::open(path), "process", "'" + path + "'");
  CHECK_FAILURE(Ledger::create(path, header()), "File exists");
  CHECK_FAILURE(Ledger::open(folder / "none"), "No such file");
  CHECK_FAILURE(read_ledger(folder.path()), "Is a directory");
}

TEST_CASE("lines with impossible contents are refused by number, though their chain is right") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  const auto refused = [&](const std::string& first, const std::string& second, std::initializer_list<std::string_view> parts) {
    const std::string value = chain_value("", first, "");
    write_lines(path, {chained(first, value), chained(second, chain_value(value, second, ""))});
    check_fails([&] { read_ledger(path); }, parts);
  };
  const std::string head = header_text(header());
  refused(head, "{}", {"line 2", "'kind'"});
  refused(head, "{\"kind\":\"open\"}", {"line 2", "kind", "'open'", "reserve", "close"});
  refused(head, "{\"kind\":\"reserve\",\"round\":-1,\"digest\":\"\",\"groups\":[]}", {"line 2", "'round'", "4294967295"});
  refused(head, "{\"kind\":\"reserve\",\"round\":1,\"digest\":\"\",\"groups\":7}", {"line 2", "'groups'"});
  refused(head, "{\"kind\":\"reserve\",\"round\":1,\"digest\":\"\",\"groups\":" + std::string(1000, '[') + "}", {"line 2", "8"});
  const auto group = [&](const std::string& text) {
    return "{\"kind\":\"reserve\",\"round\":1,\"digest\":\"\",\"groups\":[{\"level\":\"example\"," + text +
           "\"first\":0,\"runs\":[[1,1,1]]}]}";
  };
  refused(head, group("\"each\":{\"sampling\":\"poison\",\"rate\":0.5},"), {"line 2", "sampling", "'poison'"});
  refused(head, group("\"each\":{\"rate\":1.5},"), {"line 2", "sampling rate", "1.5"});
  refused(head, group("\"clients\":\"0-4000000000\","), {"line 2", "client 4000000000", "3"});
  refused(head, group("\"clients\":\"2-1\","), {"line 2", "clients", "'2-1'"});
  refused(head, group("\"clients\":\"1,1\","), {"line 2", "clients", "'1,1'"});
  refused("{\"kind\":\"ledger\",\"version\":7}", "{}", {"line 1", "version 7", "version 1"});
  refused(head, group("\"each\":{\"ratio\":0.5},"), {"line 2", "'each'", "'ratio'", "'rate'"});
  refused(head, group("\"rate\":0.5,"), {"line 2", "'group'", "'rate'", "each"});
  refused(head, group("\"each\":{\"rate\":true},"), {"line 2", "'rate'", "number"});
  refused(head, group("\"each\":{\"passes\":1e3},"), {"line 2", "'passes'", "whole number"});
  LedgerHeader long_one = header();
  long_one.constants.assign(101, "a fact");
  refused(header_text(long_one), "{}", {"line 1", "'constants'", "100"});
  LedgerHeader apart = header();
  apart.statements[1].each.correlation = {.separation = 2'000'000, .horizon = 9};
  refused(header_text(apart), "{}", {"line 1", "'separation'", "1000000"});
  LedgerHeader crowded = header();
  crowded.statements[1].colluders = std::uint64_t{1} << 25;
  refused(header_text(crowded), "{}", {"line 1", "colluders", "16777216"});
  std::string doubled = head;
  doubled.insert(doubled.find("{\"level\":\"client\""), "{\"level\":\"client\",\"accountant\":\"rdp\",\"delta\":0.5},");
  refused(doubled, "{}", {"line 1", "two statements at client level"});
  refused("{\"kind\":\"close\"}", "{}", {"line 1"});
}

TEST_CASE("correlated noise is written and read; the rounds' cost is that of the last one") {
  const test::TemporaryFolder folder;
  for (const auto& part : MechanismPart::family().parts()) {
    const std::unique_ptr<Part> mechanism = part->clone();
    for (const SettingInfo& info : mechanism->settings()) mechanism->set(info, std::int64_t{2});
    const std::string path = folder / std::string(part->name());
    LedgerHeader head = header();
    head.statements[1].each.correlation = plan_correlation(static_cast<const MechanismPart&>(*mechanism), 3, 9);
    CHECK(read_header(header_text(head)) == head);
    const auto release = [&](std::uint64_t round) {
      return LedgerGroups{{.level = Level::client,
                           .each = {.sampling = Sampling::full, .correlation = head.statements[1].each.correlation},
                           .first = round - 1,
                           .runs = {{2, 1.5, 1}}}};
    };
    Ledger ledger = Ledger::create(path, head);
    for (std::uint32_t round = 1; round <= 5; ++round) {
      ledger.reserve(round, "digest" + std::to_string(round), release(round));
      if (round < 5) ledger.close(round, release(round));  // the last one stays open, and counts
    }
    CHECK_THROWS_AS(ledger.reserve(6, "early", release(2)), Error);
    const Spending spending = read_ledger(path).book.spent_by_update();
    REQUIRE(spending.size() == 1);
    CHECK(spending[0].rounds == 5);
    CHECK(spending[0].correlation == head.statements[1].each.correlation);
    LedgerHeader damaged = head;
    damaged.statements[1].each.correlation.horizon = 0;
    CHECK_THROWS_AS(read_header(header_text(damaged)), Error);
  }
}

TEST_CASE("noise in shares is written and read; no more shares count than survivors guarantee") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  LedgerHeader head = header();
  head.statements = {{.level = Level::client,
                      .accountant = "rdp",
                      .delta = 1e-6,
                      .each = {.neighbours = Neighbours::zero_out},
                      .bound = 1,
                      .noise_at = "distributed",
                      .survivors = 20,
                      .colluders = 3}};
  CHECK(read_header(header_text(head)) == head);
  LedgerGroup group{
      .level = Level::client,
      .each = {.sampling = Sampling::full, .neighbours = Neighbours::zero_out, .law = kLaw<SkellamLaw>, .shares = {1e-3, 64, 17}},
      .runs = {{1, 1, 1}}};
  {
    Ledger ledger = Ledger::create(path, head);
    ledger.reserve(1, "a", {group});
    ledger.close(1, {group});
    LedgerGroup next = group;
    next.first = 1;
    ledger.reserve(2, "b", {next});
    next.each.shares.count = 16;
    check_fails([&] { ledger.close(2, {next}); }, {"round 2", "noise"});
  }
  const Spending spending = read_ledger(path).book.spent_by_update();
  REQUIRE(spending.size() == 2);
  CHECK(spending[0].law == kLaw<SkellamLaw>);
  CHECK(spending[0].shares == NoiseShares{1e-3, 64, 17});
  LedgerGroup wrong = group;
  wrong.each.shares.count = 18;
  CHECK(names(malformed({wrong}, head), {"18 shares", "20 survivors", "17"}));
  wrong = group;
  wrong.each.law = NoiseLaw::gaussian;
  CHECK(names(malformed({wrong}, head), {"distributed"}));
  wrong = group;
  wrong.each.shares.step = 0;
  CHECK(names(malformed({wrong}, head), {"step", "0"}));
  wrong = group;
  wrong.each.sampling = Sampling::poisson;
  wrong.each.rate = 0.5;
  CHECK(names(malformed({wrong}, head), {"sampling", "poisson"}));
}

TEST_CASE("sums that name their clients cost what the client that is in most of them pays") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  LedgerHeader head = header();
  head.statements = {{.level = Level::client,
                      .accountant = "rdp",
                      .delta = 1e-6,
                      .each = {.neighbours = Neighbours::zero_out},
                      .bound = 1,
                      .noise_at = "central",
                      .participations = true}};
  CHECK(read_header(header_text(head)) == head);
  const auto sum_of = [](std::uint32_t round, std::vector<ClientId> clients, double multiplier = 2) {
    return LedgerGroup{.level = Level::client,
                       .clients = std::move(clients),
                       .each = {.sampling = Sampling::full, .neighbours = Neighbours::zero_out},
                       .first = round - 1,
                       .runs = {{multiplier, 1, 1}}};
  };
  LedgerGroup evaluation = sum_of(3, {}, 5);
  evaluation.quantity = Quantity::evaluation;
  const std::vector<LedgerGroups> rounds{{sum_of(1, {0, 1})},       {sum_of(2, {2, 3})}, {sum_of(3, {1, 2}), evaluation},
                                         {sum_of(4, {0, 1, 2, 3})}, {sum_of(5, {0, 3})}, {sum_of(6, {1, 3})},
                                         {sum_of(7, {0, 1}, 3)}};
  const std::uint64_t charged[] = {
      1, 1, 3, 4, 4, 5, 6};  // clients 1 and 2 have two after round 3, all one more, 1 and 3 a fourth; other noise
  {
    Ledger ledger = Ledger::create(path, head);
    for (std::uint32_t round = 1; round <= rounds.size(); ++round) {
      ledger.reserve(round, "digest", rounds[round - 1]);
      CHECK(count_of(ledger.spent_by_update()) == charged[round - 1]);
      ledger.close(round, rounds[round - 1]);
      CHECK(count_of(ledger.spent_by_update()) == charged[round - 1]);
      CHECK(count_of(ledger.book().before(round).updates()) == (round > 1 ? charged[round - 2] : 0));
    }
    check_fails([&] { ledger.reserve(6, "other digest", rounds[5]); }, {"round 6", "addresses"});
  }
  CHECK(count_of(read_ledger(path).book.spent_by_update()) == 6);
  CHECK(names(malformed({sum_of(1, {0, 4})}, head), {"client 4"}));
  head.statements[0].participations = false;
  CHECK(names(malformed({sum_of(1, {0, 1})}, head), {"client 0", "every client"}));
}

TEST_CASE(
    "sums whose clients are a minimum separation apart: kept by the ledger, checked by its readers, charged by their number") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  const Correlation blt = plan_correlation(BufferedNoise({2}), 3, 9);
  LedgerHeader head = header();
  head.statements = {{.level = Level::client,
                      .accountant = "rdp",
                      .delta = 1e-6,
                      .each = {.neighbours = Neighbours::zero_out, .correlation = blt},
                      .bound = 1,
                      .noise_at = "central",
                      .participations = true}};
  CHECK(read_header(header_text(head)) == head);
  const auto sum_of = [&](std::uint32_t round, std::vector<ClientId> clients) {
    return LedgerGroup{.level = Level::client,
                       .clients = std::move(clients),
                       .each = {.sampling = Sampling::full, .neighbours = Neighbours::zero_out, .correlation = blt},
                       .first = round - 1,
                       .runs = {{2, 1, 1}}};
  };
  const std::vector<std::vector<ClientId>> rounds{{0}, {1}, {2}, {0}, {1}, {3}, {0}};
  const std::uint64_t most[] = {1, 1, 1, 2, 2, 2, 3};
  {
    Ledger ledger = Ledger::create(path, head);
    for (std::uint32_t round = 1; round <= rounds.size(); ++round) {
      ledger.reserve(round, "digest", {sum_of(round, rounds[round - 1])});
      ledger.reserve(round, "digest", {sum_of(round, rounds[round - 1])});  // as a run that was killed does
      const Spending spent = ledger.spent_by_update();
      REQUIRE(spent.size() == 1);
      CHECK(spent[0].rounds == round);  // what came later shows more of what was before
      CHECK(spent[0].most == most[round - 1]);
      ledger.close(round, {sum_of(round, rounds[round - 1])});
    }
    check_fails(
        [&] {
          ledger.reserve(8, "digest", {sum_of(8, {1, 3})});
        },
        {"round 8", "client 3", "round 6", "minimum-separation is 3"});
    check_fails([&] { ledger.reserve(8, "digest", {sum_of(8, {0, 1, 2, 3})}); }, {"round 8", "names no clients"});
    ledger.reserve(8, "digest", {sum_of(8, {1, 2})});
  }
  CHECK(read_ledger(path).book.problems().empty());
  // Lines that nobody should have written, with a chain that fits.
  std::vector<std::string> texts;
  for (LedgerReader reader(path, "");;) {
    texts.emplace_back(reader.next());
    if (texts.back().empty()) break;
  }
  texts.pop_back();
  const auto problems_with = [&](const std::vector<std::string>& lines) {
    std::string value, all;
    std::ofstream file(folder / "forged.jsonl", std::ios::trunc);
    for (const std::string& text : lines) file << chained(text, value = chain_value(value, text, "")) << '\n';
    file.close();
    const LedgerReading reading = read_ledger(folder / "forged.jsonl");
    for (const std::string& one : reading.book.problems()) all += one + "; ";
    return all;
  };
  CHECK(problems_with(texts).empty());
  auto forged = texts;
  forged[5].replace(forged[5].find("\"clients\":\"2\""), 13, "\"clients\":\"1\"");  // round 3's
  CHECK(names(problems_with(forged), {"round 3: client 1 is in its sum and in that of round 2", "minimum-separation is 3"}));
  forged = texts;
  std::rotate(forged.begin() + 1, forged.begin() + 3, forged.begin() + 5);  // round 2 comes first
  CHECK(names(problems_with(forged), {"round 1: it was reserved after round 2"}));
  forged = texts;
  forged[5].replace(forged[5].find("[[2.0,1.0,1]]"), 13, "[[9.0,1.0,1]]");
  CHECK(names(problems_with(forged), {"round 3: its noise or clip is not that of earlier rounds"}));
  // A client's own ledger knows its tasks and not their versions: each may be in the costliest.
  head.statements[0].own_tasks = true;
  CHECK(read_header(header_text(head)) == head);
  Ledger own = Ledger::create(folder / "own.jsonl", head);
  for (std::uint32_t task = 1; task <= 2; ++task) {
    own.reserve(task, "digest", {sum_of(task, {})});
    REQUIRE(own.spent_by_update().size() == 1);
    CHECK(own.spent_by_update()[0].rounds == 9);
    CHECK(own.spent_by_update()[0].most == task);
  }
}

TEST_CASE("private components are a release before the first round") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  {
    Ledger ledger = Ledger::create(path, header());
    LedgerGroup components{
        .clients = {0, 1, 2, 3}, .each = {.sampling = Sampling::full}, .runs = {{4, 1, 1}}, .quantity = Quantity::components};
    ledger.reserve(0, "pca", {components});
    ledger.close(0, {components});
    ledger.reserve(1, "a", {releases(0, 10)});
    ledger.close(1, {releases(0, 10)});
  }
  const Spending spending = read_ledger(path).book.spent(3);
  REQUIRE(spending.size() == 2);
  CHECK(spending[0].sampling == Sampling::full);
  CHECK(spending[0].noise_multiplier == 4);
  CHECK(spending[0].count == 1);
}

TEST_CASE("ten thousand rounds, and a thousand clients of different sizes, are read without delay") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "ledger.jsonl";
  const auto write = [&](const LedgerHeader& head, std::uint32_t rounds,
                         const std::function<LedgerGroups(std::uint32_t)>& groups) {
    std::ofstream file(path, std::ios::trunc);  // a thousandth of the time that syncing every line takes
    std::string value;
    const auto add = [&](const std::string& text) {
      value = chain_value(value, text, "");
      file << chained(text, value) << '\n';
    };
    add(header_text(head));
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      add(entry_text({.round = round, .digest = "digest", .groups = groups(round)}, head));
      add(entry_text({.closes = true, .round = round, .as_reserved = true}, head));
    }
  };
  write(header(), 10'000, [](std::uint32_t round) { return LedgerGroups{releases(round * 20, 20)}; });
  CHECK(count_of(read_ledger(path).book.spent(1)) == 200'000);
  CHECK(read_ledger(path).book.spent(1).size() == 1);

  LedgerHeader wide = header();
  wide.clients = 1000;
  write(wide, 20, [](std::uint32_t round) {
    LedgerGroups groups;
    for (ClientId client = 0; client < 999; ++client) {
      groups.push_back(releases(round * 20, 20, {client}));
      groups.back().each.rate = 1.0 / (100 + client);
    }
    return groups;
  });
  const LedgerBook book = read_ledger(path).book;
  CHECK(count_of(book.spent(500)) == 400);
  CHECK(book.spent(999).empty());
  CHECK(book.totals().histories() == 1000);
}

}  // namespace
}  // namespace fedstride::test::ledger_test
