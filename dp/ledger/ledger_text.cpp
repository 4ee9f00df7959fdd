#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/term_json.hpp"
#include "core/text.hpp"
#include "dp/correlations/correlation.hpp"
#include "dp/ledger/ledger_entry.hpp"

namespace fedstride {

namespace {

const Json& member(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) throw failure(std::string("'") + name + "' is missing");
  return *found;
}

// What a group's releases have in common with their level's statement; a group does not repeat it.
Releases planned(Level level, Quantity quantity, const LedgerHeader& header) {
  const LedgerStatement* statement = header.at(level);
  if (statement == nullptr) return {};
  if (quantity == Quantity::sums) return statement->each;
  return {.sampling = Sampling::full, .neighbours = statement->each.neighbours};
}

Json groups_json(const LedgerGroups& groups, const LedgerHeader& header) {
  Json list = Json::array();
  for (const LedgerGroup& group : groups)
    list.push_back(term_json(group, LedgerGroup{.each = planned(group.level, group.quantity, header)}));
  return list;
}

constexpr std::uint32_t kMaxClients = std::uint32_t{1} << 24;

void check_statement(const LedgerStatement& statement) {
  if (!(statement.delta > 0 && statement.delta < 1) || !(statement.epsilon >= 0))
    throw failure("delta is " + number_text(statement.delta) + ", epsilon is " + number_text(statement.epsilon) +
                  "; delta must be in (0, 1), and epsilon must be at least 0");
  constexpr std::uint64_t kMaxSeparation = 1'000'000;
  if (statement.each.correlation.separation > kMaxSeparation)
    throw failure("'separation' must be at most " + std::to_string(kMaxSeparation));
  for (const std::uint64_t number : {statement.survivors, statement.colluders})
    if (number > kMaxClients) throw failure("survivors and colluders must be at most " + std::to_string(kMaxClients));
  const bool at_clients = statement.level == Level::client;
  if ((statement.participations || statement.each.correlation.on()) && !at_clients)
    throw failure("participations and correlated noise must be at client level");
  if (statement.own_tasks && !statement.participations) throw failure("own_tasks is true without participations");
  if (statement.users && at_clients) throw failure("users is true at client level; it must be at example level");
  if (const std::string wrong = objection(statement.each.correlation); !wrong.empty()) throw failure(wrong);
}

}  // namespace

std::string groups_text(const LedgerGroups& groups) { return dump_json(groups_json(groups, {})); }

std::string header_text(const LedgerHeader& header) { return dump_json(term_json(header)); }

std::string entry_text(const LedgerEntry& entry, const LedgerHeader& header) {
  Json json{{"kind", entry.closes ? "close" : "reserve"}, {"round", entry.round}};
  if (!entry.closes) json["digest"] = entry.digest;
  json[entry.closes ? "executed" : "groups"] = entry.as_reserved ? Json("all") : groups_json(entry.groups, header);
  return dump_json(json);
}

LedgerHeader read_header(std::string_view text) {
  const Json json = parse_terms(text);
  LedgerHeader header;
  std::string kind;
  TermReader reader;
  reader.read(member(json, "kind"), "kind", kind);
  if (kind != header.kind) throw failure("not the first line of a ledger");
  const std::uint32_t version = header.version;
  reader.read(member(json, "version"), "version", header.version);
  if (header.version != version)
    throw failure("the ledger has version " + std::to_string(header.version) + "; this program reads version " +
                  std::to_string(version));
  reader.read(json, "the first line", header);
  if (header.source != "seeded" && header.source != "secret")
    throw failure("source '" + header.source + "' is unknown; valid: seeded, secret");
  if (header.clients == 0 || header.clients > kMaxClients)
    throw failure("'clients' is " + std::to_string(header.clients) + "; it must be from 1 to " + std::to_string(kMaxClients));
  constexpr std::size_t kMaxConstants = 100;
  if (header.constants.size() > kMaxConstants)
    throw failure("'constants' has more than " + std::to_string(kMaxConstants) + " strings");
  for (const LedgerStatement& statement : header.statements) {
    check_statement(statement);
    if (std::ranges::count(header.statements, statement.level, &LedgerStatement::level) > 1)
      throw failure("two statements at " + std::string(name_of(statement.level)) + " level");
  }
  return header;
}

LedgerEntry read_entry(std::string_view text, const LedgerHeader& header) {
  const Json json = parse_terms(text);
  TermReader reader(header.clients);
  std::string kind;
  reader.read(member(json, "kind"), "kind", kind);
  if (kind != "reserve" && kind != "close") throw failure("kind '" + kind + "' is unknown; valid: reserve, close");
  LedgerEntry entry;
  entry.closes = kind == "close";
  reader.read(member(json, "round"), "round", entry.round);
  if (!entry.closes) reader.read(member(json, "digest"), "digest", entry.digest);
  const char* const list = entry.closes ? "executed" : "groups";
  const Json& groups = member(json, list);
  entry.as_reserved = entry.closes && groups == "all";
  if (entry.as_reserved) return entry;
  if (!groups.is_array()) throw failure(std::string("'") + list + "' is not a list");
  for (const Json& one : groups) {
    if (!one.is_object()) throw failure("a group is not a JSON object");
    Level level = {};
    Quantity quantity = {};
    reader.read(member(one, "level"), "level", level);
    if (one.contains("quantity")) reader.read(one["quantity"], "quantity", quantity);
    entry.groups.push_back({.each = planned(level, quantity, header)});
    reader.read(one, "group", entry.groups.back());
  }
  if (const std::string wrong = malformed(entry.groups, header); !wrong.empty()) throw failure(wrong);
  return entry;
}

}  // namespace fedstride
