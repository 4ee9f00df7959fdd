#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "dp/accountants/correlation.hpp"
#include "dp/ledger/ledger_entry.hpp"

namespace fedstride {
namespace {

// Ledgers without noise in shares have version 1, as before there was any.
constexpr int kVersion = 1;
constexpr int kVersionWithShares = 2;
constexpr int kVersionWithCorrelation = 3;
constexpr int kVersionWithParticipations = 4;
constexpr int kVersionWithLotCounts = 5;  // a bound on examples' gradients that adapts
constexpr int kVersionWithBoth = 6;       // participations and correlated noise, or a separation of them

std::string json_text(std::string_view text) { return dump_json(Json(std::string(text))); }

std::string finite(double value) {
  if (!std::isfinite(value)) throw failure("the ledger cannot hold the number " + number_text(value));
  return number_text(value);
}

// "0-4,7": runs of consecutive clients.
std::string ranges_text(const std::vector<ClientId>& clients) {
  std::string text;
  for (std::size_t i = 0; i < clients.size();) {
    std::size_t end = i + 1;
    while (end < clients.size() && clients[end] == clients[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(clients[i]);
    if (end - i > 1) text += '-' + std::to_string(clients[end - 1]);
    i = end;
  }
  return text;
}

// Never returns more than `limit` clients.
std::vector<ClientId> read_ranges(const std::string& text, std::uint32_t limit) {
  std::vector<ClientId> clients;
  const auto bad = [&] {
    return failure("clients '" + text.substr(0, 60) + "' are invalid; valid: ascending ranges such as '0-4,7'");
  };
  std::uint64_t next = 0;
  for (const auto piece : split(text, ',')) {
    const char* const end = piece.data() + piece.size();
    ClientId low = 0;
    auto [at, error] = std::from_chars(piece.data(), end, low);
    if (error != std::errc{}) throw bad();
    ClientId high = low;
    if (at != end) {
      if (*at != '-') throw bad();
      const auto second = std::from_chars(at + 1, end, high);
      if (second.ec != std::errc{} || second.ptr != end) throw bad();
    }
    if (low < next || high < low) throw bad();
    if (high >= limit)
      throw failure("client " + std::to_string(high) + " is not in the ledger; the last is " + std::to_string(limit - 1));
    for (std::uint64_t client = low; client <= high; ++client) clients.push_back(static_cast<ClientId>(client));
    next = std::uint64_t{high} + 1;
  }
  return clients;
}

// nlohmann's parser allocates as it reads; nested brackets cost it most.
Json parsed(std::string_view text) {
  constexpr int kMaxDepth = 8;
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxDepth) throw failure("brackets are nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  Json json = parse_json(text);
  if (!json.is_object()) throw failure("not a JSON object");
  return json;
}

const Json& member(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) throw failure(std::string("'") + name + "' is missing");
  return *found;
}

double number(const Json& json, const char* name) {
  if (!json.is_number()) throw failure(std::string("'") + name + "' is not a number");
  return json.get<double>();
}
double number_at(const Json& json, const char* name) { return number(member(json, name), name); }
double number_or(const Json& json, const char* name, double value) { return json.contains(name) ? number_at(json, name) : value; }

std::uint64_t whole(const Json& json, const char* name, std::uint64_t most) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most)
    throw failure(std::string("'") + name + "' is not a whole number up to " + std::to_string(most));
  return json.get<std::uint64_t>();
}
constexpr std::uint64_t kMaxLedgerCount = std::uint64_t{1} << 40;

std::string text_at(const Json& json, const char* name) {
  const Json& value = member(json, name);
  if (!value.is_string()) throw failure(std::string("'") + name + "' is not a string");
  return value.get<std::string>();
}

std::vector<std::string> read_constants(const Json& json) {
  constexpr std::size_t kMaxConstants = 100;
  std::vector<std::string> constants;
  if (!json.contains("constants")) return constants;
  const Json& list = json["constants"];
  if (!list.is_array() || list.size() > kMaxConstants)
    throw failure("'constants' is not a list of " + std::to_string(kMaxConstants) + " strings at most");
  for (const Json& constant : list) {
    if (!constant.is_string()) throw failure("a constant is not a string");
    constants.push_back(constant.get<std::string>());
  }
  return constants;
}

std::map<std::string, std::string> read_recorded_settings(const Json& json) {
  constexpr std::size_t kMaxSettings = 1000;
  std::map<std::string, std::string> settings;
  if (!json.contains("settings")) return settings;
  const Json& all = json["settings"];
  if (!all.is_object() || all.size() > kMaxSettings)
    throw failure("'settings' is not an object of " + std::to_string(kMaxSettings) + " strings at most");
  for (const auto& [key, value] : all.items()) {
    if (!value.is_string()) throw failure("the setting '" + std::string(key) + "' is not a string");
    settings.emplace(key, value.get<std::string>());
  }
  return settings;
}

// "blt","separation":4, and for the statement what else its cost depends on.
std::string correlation_text(const Correlation& correlation, bool whole) {
  std::string text = json_text(choice_name(correlation.mechanism)) + ",\"separation\":" + std::to_string(correlation.separation);
  if (!whole) return text;
  text += ",\"horizon\":" + std::to_string(correlation.horizon);
  if (correlation.restart > 0) text += ",\"restart\":" + std::to_string(correlation.restart);
  if (correlation.coefficients.empty()) return text;
  text += ",\"coefficients\":[";
  for (const double& value : correlation.coefficients)
    text += (&value == correlation.coefficients.data() ? "" : ",") + finite(value);
  return text + ']';
}

Correlation read_correlation(const Json& json) {
  constexpr std::uint64_t kMaxSeparation = 1'000'000;
  constexpr std::size_t kMaxCoefficients = 4096;
  Correlation correlation{.mechanism = make_choice<NoiseMechanism>("mechanism", text_at(json, "mechanism")),
                          .separation = whole(member(json, "separation"), "separation", kMaxSeparation)};
  if (json.contains("horizon")) correlation.horizon = whole(json["horizon"], "horizon", kMaxLedgerCount);
  if (json.contains("restart")) correlation.restart = whole(json["restart"], "restart", kMaxLedgerCount);
  if (!json.contains("coefficients")) return correlation;
  const Json& list = json["coefficients"];
  if (!list.is_array() || list.size() > kMaxCoefficients)
    throw failure("'coefficients' is not a list of " + std::to_string(kMaxCoefficients) + " numbers at most");
  for (const Json& value : list) correlation.coefficients.push_back(number(value, "coefficient"));
  return correlation;
}

// A release says what noise it has; the statement, which the two must agree with, has the parameters.
void complete(LedgerGroup& group, const LedgerHeader& header) {
  const LedgerStatement* statement = header.at(group.level);
  if (statement == nullptr || !group.correlation.on()) return;
  if (group.correlation.mechanism == statement->correlation.mechanism &&
      group.correlation.separation == statement->correlation.separation)
    group.correlation = statement->correlation;
}

LedgerGroup read_group(const Json& json, std::uint32_t clients) {
  if (!json.is_object()) throw failure("a group is not a JSON object");
  LedgerGroup group;
  group.level = make_choice<Level>("level", text_at(json, "level"));
  if (json.contains("clients")) group.clients = read_ranges(text_at(json, "clients"), clients);
  group.sampling = sampling_named(text_at(json, "sampling"));
  group.neighbours = neighbours_named(text_at(json, "neighbours"));
  group.rate = number_at(json, "rate");
  if (json.contains("passes")) group.passes = whole(json["passes"], "passes", kMaxLedgerCount);
  group.first = whole(member(json, "first"), "first", kMaxLedgerCount);
  group.largest_weight = number_or(json, "largest_weight", 1);
  if (json.contains("quantity")) group.quantity = make_choice<Quantity>("quantity", text_at(json, "quantity"));
  if (json.contains("adaptive")) group.adaptive = json["adaptive"] == true;
  if (json.contains("noise")) {
    group.law = make_choice<NoiseLaw>("noise", text_at(json, "noise"));
    group.shares = {.step = number_at(json, "step"),
                    .dimension = whole(member(json, "dimension"), "dimension", kMaxLedgerCount),
                    .count = whole(member(json, "shares"), "shares", kMaxLedgerCount)};
  }
  if (json.contains("mechanism")) group.correlation = read_correlation(json);
  if (json.contains("rows")) group.rows = whole(json["rows"], "rows", kMaxLedgerCount);
  const Json& runs = member(json, "runs");
  if (!runs.is_array()) throw failure("'runs' is not a list");
  for (const Json& run : runs) {
    if (!run.is_array() || run.size() != 3) throw failure("a run is not [noise multiplier, clip, count]");
    group.runs.push_back({.noise_multiplier = number(run[0], "noise multiplier"),
                          .clip = number(run[1], "clip"),
                          .count = whole(run[2], "count", kMaxLedgerCount)});
  }
  return group;
}

}  // namespace

std::string groups_text(const LedgerGroups& groups) {
  std::string text = "[";
  for (const LedgerGroup& group : groups) {
    if (text.size() > 1) text += ',';
    text += "{\"level\":" + json_text(name_of(group.level));
    if (!group.clients.empty()) text += ",\"clients\":\"" + ranges_text(group.clients) + '"';
    if (group.quantity != Quantity::sums) text += ",\"quantity\":" + json_text(choice_name(group.quantity));
    text += ",\"sampling\":" + json_text(name_of(group.sampling)) + ",\"rate\":" + finite(group.rate) +
            ",\"neighbours\":" + json_text(name_of(group.neighbours));
    if (group.passes != 0) text += ",\"passes\":" + std::to_string(group.passes);
    if (group.level == Level::client) text += ",\"largest_weight\":" + finite(group.largest_weight);
    if (group.adaptive) text += ",\"adaptive\":true";
    if (group.law != NoiseLaw::gaussian)
      text += ",\"noise\":" + json_text(choice_name(group.law)) + ",\"step\":" + finite(group.shares.step) +
              ",\"dimension\":" + std::to_string(group.shares.dimension) + ",\"shares\":" + std::to_string(group.shares.count);
    if (group.correlation.on()) text += ",\"mechanism\":" + correlation_text(group.correlation, false);
    if (group.rows != 1) text += ",\"rows\":" + std::to_string(group.rows);
    text += ",\"first\":" + std::to_string(group.first) + ",\"runs\":[";
    for (const ReleaseRun& run : group.runs) {
      if (&run != group.runs.data()) text += ',';
      text += '[' + finite(run.noise_multiplier) + ',' + finite(run.clip) + ',' + std::to_string(run.count) + ']';
    }
    text += "]}";
  }
  return text + ']';
}

std::string header_text(const LedgerHeader& header) {
  const bool has_shares =
      std::ranges::any_of(header.statements, [](const LedgerStatement& one) { return one.noise_at == "distributed"; });
  int version = has_shares ? kVersionWithShares : kVersion;
  for (const LedgerStatement& one : header.statements) {
    if (one.correlation.on()) version = kVersionWithCorrelation;
    if (one.participations) version = one.correlation.on() ? kVersionWithBoth : kVersionWithParticipations;
    if (one.adaptive_clip && one.level == Level::example) version = kVersionWithLotCounts;
  }
  std::string text = "{\"kind\":\"ledger\",\"version\":" + std::to_string(version) + ",\"source\":" + json_text(header.source) +
                     ",\"clients\":" + std::to_string(header.clients) +
                     ",\"run\":[\"noise multiplier\",\"clip\",\"count\"],\"statements\":[";
  for (const LedgerStatement& statement : header.statements) {
    if (&statement != header.statements.data()) text += ',';
    text += "{\"level\":" + json_text(name_of(statement.level)) + ",\"accountant\":" + json_text(statement.accountant) +
            ",\"delta\":" + finite(statement.delta) +
            ",\"epsilon\":" + (std::isinf(statement.epsilon) ? "null" : finite(statement.epsilon)) +
            ",\"neighbours\":" + json_text(name_of(statement.neighbours));
    if (statement.level == Level::client)
      text += ",\"bound\":" + finite(statement.bound) + ",\"largest_weight\":" + finite(statement.largest_weight) +
              ",\"noise_at\":" + json_text(statement.noise_at);
    if (statement.own_code) text += ",\"own_code\":true";
    if (statement.noise_at == "distributed")
      text += ",\"survivors\":" + std::to_string(statement.survivors) + ",\"colluders\":" + std::to_string(statement.colluders);
    if (statement.adaptive_clip) text += ",\"clip\":\"adaptive\"";
    if (statement.participations) text += ",\"participations\":true";
    if (statement.own_tasks) text += ",\"own_tasks\":true";
    if (statement.correlation.on()) text += ",\"mechanism\":" + correlation_text(statement.correlation, true);
    if (statement.users) text += ",\"record\":\"user\"";
    text += '}';
  }
  text += ']';
  if (!header.constants.empty()) {
    text += ",\"constants\":[";
    for (const std::string& constant : header.constants)
      text += (&constant == header.constants.data() ? "" : ",") + json_text(constant);
    text += ']';
  }
  if (!header.settings.empty()) {
    text += ",\"settings\":{";
    bool is_first = true;
    for (const auto& [key, value] : header.settings)
      text += (std::exchange(is_first, false) ? "" : ",") + json_text(key) + ':' + json_text(value);
    text += '}';
  }
  return text + '}';
}

std::string entry_text(const LedgerEntry& entry) {
  const std::string head =
      "{\"kind\":\"" + std::string(entry.closes ? "close" : "reserve") + "\",\"round\":" + std::to_string(entry.round);
  if (entry.closes && entry.as_reserved) return head + ",\"executed\":\"all\"}";
  if (entry.closes) return head + ",\"executed\":" + groups_text(entry.groups) + '}';
  return head + ",\"digest\":" + json_text(entry.digest) + ",\"groups\":" + groups_text(entry.groups) + '}';
}

LedgerHeader read_header(std::string_view text) {
  const Json json = parsed(text);
  if (text_at(json, "kind") != "ledger") throw failure("not the first line of a ledger");
  const Json& version = member(json, "version");
  if (version != kVersion && version != kVersionWithShares && version != kVersionWithCorrelation &&
      version != kVersionWithParticipations && version != kVersionWithLotCounts && version != kVersionWithBoth)
    throw failure("the ledger has version " + dump_json(version) + "; this program reads versions " + std::to_string(kVersion) +
                  " to " + std::to_string(kVersionWithBoth));
  LedgerHeader header;
  header.source = text_at(json, "source");
  if (header.source != "seeded" && header.source != "secret")
    throw failure("source '" + header.source + "' is unknown; valid: seeded, secret");
  constexpr std::uint64_t kMaxClients = std::uint64_t{1} << 24;
  header.clients = static_cast<std::uint32_t>(whole(member(json, "clients"), "clients", kMaxClients));
  if (header.clients == 0) throw failure("'clients' is 0; it must be at least 1");
  const Json& statements = member(json, "statements");
  if (!statements.is_array()) throw failure("'statements' is not a list");
  for (const Json& json_statement : statements) {
    if (!json_statement.is_object()) throw failure("a statement is not a JSON object");
    LedgerStatement statement;
    statement.level = make_choice<Level>("level", text_at(json_statement, "level"));
    if (header.at(statement.level) != nullptr)
      throw failure("two statements at " + std::string(name_of(statement.level)) + " level");
    statement.accountant = text_at(json_statement, "accountant");
    statement.delta = number_at(json_statement, "delta");
    if (!member(json_statement, "epsilon").is_null()) statement.epsilon = number_at(json_statement, "epsilon");
    if (!(statement.delta > 0 && statement.delta < 1) || !(statement.epsilon >= 0))
      throw failure("delta is " + number_text(statement.delta) + ", epsilon is " + number_text(statement.epsilon) +
                    "; delta must be in (0, 1), epsilon at least 0");
    statement.neighbours = neighbours_named(text_at(json_statement, "neighbours"));
    statement.largest_weight = number_or(json_statement, "largest_weight", 1);
    statement.bound = number_or(json_statement, "bound", 0);
    if (json_statement.contains("own_code")) {
      const Json& flag = json_statement["own_code"];
      if (!flag.is_boolean()) throw failure("'own_code' is neither true nor false");
      statement.own_code = flag.get<bool>();
    }
    if (json_statement.contains("participations")) {
      const bool fits = version == kVersionWithParticipations || version == kVersionWithBoth;
      if (!fits || statement.level != Level::client || json_statement["participations"] != true)
        throw failure("'participations' must be true, at client level, in a ledger of version 4 or 6");
      statement.participations = true;
    }
    if (json_statement.contains("own_tasks")) {
      if (!statement.participations || version != kVersionWithBoth || json_statement["own_tasks"] != true)
        throw failure("'own_tasks' must be true, with participations, in a ledger of version " +
                      std::to_string(kVersionWithBoth));
      statement.own_tasks = true;
    }
    if (json_statement.contains("clip")) {
      if (text_at(json_statement, "clip") != "adaptive")
        throw failure("clip '" + text_at(json_statement, "clip") + "' is unknown; valid: adaptive");
      if (statement.level == Level::example && version != kVersionWithLotCounts)
        throw failure("a clip that is adaptive at example level needs a ledger of version " +
                      std::to_string(kVersionWithLotCounts));
      statement.adaptive_clip = true;
    }
    if (json_statement.contains("record")) {
      if (text_at(json_statement, "record") != "user" || statement.level != Level::example)
        throw failure("record '" + text_at(json_statement, "record") + "' is unknown; valid: user, at example level");
      statement.users = true;
    }
    if (json_statement.contains("noise_at")) statement.noise_at = text_at(json_statement, "noise_at");
    if (statement.noise_at == "distributed") {
      if (version == kVersion) throw failure("noise at 'distributed' needs a ledger of version 2");
      statement.survivors = whole(member(json_statement, "survivors"), "survivors", kMaxClients);
      statement.colluders = whole(member(json_statement, "colluders"), "colluders", kMaxClients);
    }
    if (json_statement.contains("mechanism")) {
      if (version != (statement.participations ? kVersionWithBoth : kVersionWithCorrelation) || statement.level != Level::client)
        throw failure("correlated noise needs a ledger of version " + std::to_string(kVersionWithCorrelation) +
                      ", or of participations " + std::to_string(kVersionWithBoth) + ", at client level");
      statement.correlation = read_correlation(json_statement);
      if (const std::string wrong = objection(statement.correlation); !wrong.empty()) throw failure(wrong);
    }
    header.statements.push_back(std::move(statement));
  }
  header.constants = read_constants(json);
  header.settings = read_recorded_settings(json);
  return header;
}

LedgerEntry read_entry(std::string_view text, const LedgerHeader& header) {
  const Json json = parsed(text);
  const std::string kind = text_at(json, "kind");
  if (kind != "reserve" && kind != "close") throw failure("kind '" + kind + "' is unknown; valid: reserve, close");
  LedgerEntry entry;
  entry.closes = kind == "close";
  entry.round = static_cast<std::uint32_t>(whole(member(json, "round"), "round", std::numeric_limits<std::uint32_t>::max()));
  if (!entry.closes) entry.digest = text_at(json, "digest");
  const char* const list = entry.closes ? "executed" : "groups";
  const Json& groups = member(json, list);
  entry.as_reserved = entry.closes && groups == "all";
  if (entry.as_reserved) return entry;
  if (!groups.is_array()) throw failure(std::string("'") + list + "' is not a list");
  // A few characters can name every client, so the clients named in one line are bounded.
  constexpr std::uint64_t kGroupsPerClient = 4;
  std::uint64_t listed = 0;
  for (const Json& group : groups) {
    entry.groups.push_back(read_group(group, header.clients));
    complete(entry.groups.back(), header);
    listed += entry.groups.back().clients.size();
    if (listed > kGroupsPerClient * header.clients)
      throw failure("more than " + std::to_string(kGroupsPerClient) + " groups per client");
  }
  if (const std::string wrong = malformed(entry.groups, header); !wrong.empty()) throw failure(wrong);
  return entry;
}

}  // namespace fedstride
