#include "dp/ledger/ledger_entry.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "core/error.hpp"
#include "core/json.hpp"
#include "core/term_json.hpp"
#include "core/text.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/correlations/correlation.hpp"

namespace fedstride {

const LedgerStatement* LedgerHeader::at(Level level) const {
  const auto found = std::ranges::find(statements, level, &LedgerStatement::level);
  return found == statements.end() ? nullptr : &*found;
}

std::uint64_t LedgerGroup::count() const {
  std::uint64_t count = 0;
  for (const ReleaseRun& run : runs) count += run.count;
  return count;
}

Releases LedgerGroup::like() const {
  Releases like = each;
  if (!has_passes(like.sampling)) like.passes = 0;
  like.rounds = like.correlation.on() ? first + count() : 0;
  return like;
}

bool LedgerGroup::goes_on() const {
  return level == Level::client && has_passes(each.sampling) && first % lots_an_epoch(each.rate) != 0;
}

LedgerGroups canonical(LedgerGroups groups, std::uint32_t clients) {
  std::map<std::string, LedgerGroup> by_text;
  for (LedgerGroup& group : groups) {
    std::vector<ReleaseRun> runs;
    for (const ReleaseRun& run : group.runs) {
      if (run.count == 0) continue;
      if (!runs.empty() && runs.back().noise_multiplier == run.noise_multiplier && runs.back().clip == run.clip)
        runs.back().count += run.count;
      else
        runs.push_back(run);
    }
    group.runs = std::move(runs);
    if (group.runs.empty()) continue;
    std::vector<ClientId> listed = std::move(group.clients);
    group.clients.clear();
    // Groups for all clients are not merged with groups for listed clients.
    const std::string text = (listed.empty() ? "all" : "") + groups_text({group});
    auto& merged = by_text.try_emplace(text, group).first->second;
    merged.clients.insert(merged.clients.end(), listed.begin(), listed.end());
  }
  LedgerGroups result;
  for (auto& [text, group] : by_text) {
    std::ranges::sort(group.clients);
    const bool distinct = std::ranges::adjacent_find(group.clients) == group.clients.end();
    if (distinct && group.clients.size() == clients && group.clients.back() == clients - 1) group.clients.clear();
    result.push_back(std::move(group));
  }
  std::ranges::stable_sort(result, {}, [](const LedgerGroup& group) {
    return std::pair(group.level, group.clients.empty() ? 0 : group.clients.front());
  });
  return result;
}

namespace {

constexpr double kMaxWeight = 1e300;
constexpr std::uint64_t kMaxReleases = std::uint64_t{1} << 40;

bool in(double value, double low, double high) { return value > low && value <= high; }
std::string text_of(const Correlation& noise) {
  return "'" + std::string(choice_name(noise.mechanism)) + "' with separation " + std::to_string(noise.separation);
}
std::string weight_error(const std::string& what, double weight) {
  return what + " " + number_text(weight) + "; it must be above 0 and at most " + number_text(kMaxWeight);
}

// Each of the following says what is wrong with one aspect of a group under its level's statement; empty: nothing.

std::string wrong_clients(const LedgerGroup& group, const LedgerStatement& statement, std::uint32_t clients) {
  const bool named = statement.participations && group.quantity == Quantity::sums;
  if (group.level == Level::client && !group.clients.empty() && !named)
    return "releases at client level are for client " + std::to_string(group.clients.front()) + "; every client must be charged";
  if (const auto twice = std::ranges::adjacent_find(group.clients); twice != group.clients.end())
    return "client " + std::to_string(*twice) + " is listed twice for the same releases";
  if (!group.clients.empty() && std::ranges::max(group.clients) >= clients)
    return "client " + std::to_string(std::ranges::max(group.clients)) + " is not in the ledger; the last is " +
           std::to_string(clients - 1);
  return {};
}

std::string wrong_draw(const LedgerGroup& group, const LedgerStatement& statement) {
  const Releases& each = group.each;
  const Draw& draw = draw_of(each.sampling);
  const std::string sampling = "sampling " + std::string(name_of(each.sampling));
  const std::string neighbours = std::string(name_of(each.neighbours)) + " neighbors";
  if (statement.each.neighbours != each.neighbours)
    return "releases for " + neighbours + "; the statement is for " + std::string(name_of(statement.each.neighbours));
  if (!in(each.rate, 0, 1)) return "sampling rate " + number_text(each.rate) + "; it must be in (0, 1]";
  if (const std::string wrong = draw.wrong_rate(each.rate); !wrong.empty())
    return "sampling rate " + number_text(each.rate) + " with " + sampling + "; " + wrong;
  if (!draw.has_bound(each.neighbours)) return sampling + " for " + neighbours + ", which has no bound";
  const std::uint64_t lots = lots_an_epoch(each.rate);
  if (draw.has_passes() && group.level == Level::client && group.count() != 1)
    return std::to_string(group.count()) + " releases of clients with " + sampling + " in a round; there must be 1";
  if (draw.has_passes() && each.passes > 0 && group.count() > each.passes * lots)
    return std::to_string(group.count()) + " releases, too many for " + counted(each.passes, "pass", "passes") + " over " +
           counted(lots, "lot");
  if (each.rows == 0 || each.rows > kMaxRowsOfRecord)
    return std::to_string(each.rows) + " rows of a record; there must be from 1 to " + std::to_string(kMaxRowsOfRecord);
  if (each.rows > 1 && (!statement.users || each.neighbours == Neighbours::replace_one || !draw.draws_rows()))
    return std::to_string(each.rows) + " rows of a record are not allowed with " + sampling + " for " + neighbours + " of " +
           (statement.users ? "users" : std::string(name_of(group.level)) + "s");
  return {};
}

std::string wrong_shares(const LedgerGroup& group, const LedgerStatement& statement) {
  const NoiseShares& shares = group.each.shares;
  const bool may_have_shares = group.level == Level::client && statement.place().has_shares;
  const std::string statement_is = "statement has noise at '" + statement.noise_at + "'";
  if (group.each.law == NoiseLaw::gaussian)
    return may_have_shares && group.quantity == Quantity::sums ? "Gaussian noise, but the " + statement_is : "";
  constexpr std::uint64_t kMaxDimension = std::uint64_t{1} << 40;
  if (!may_have_shares) return "noise in shares at " + std::string(name_of(group.level)) + " level, whose " + statement_is;
  if (group.each.sampling != Sampling::full)
    return "noise in shares must have sampling full, not " + std::string(name_of(group.each.sampling));
  if (!in(shares.step, 0, 1)) return "a step of " + number_text(shares.step) + "; it must be in (0, 1]";
  if (shares.dimension == 0 || shares.dimension > kMaxDimension)
    return "a dimension of " + std::to_string(shares.dimension) + "; it must be from 1 to 2^40";
  if (shares.count == 0 || shares.count + statement.colluders > statement.survivors)
    return counted(shares.count, "share") + " of noise; " + counted(statement.survivors, "survivor") + " and " +
           counted(statement.colluders, "colluder") + " guarantee " +
           std::to_string(statement.survivors - std::min(statement.survivors, statement.colluders));
  return {};
}

std::string wrong_correlation(const LedgerGroup& group, const LedgerStatement& statement) {
  const Correlation& noise = group.each.correlation;
  const bool is_sum = group.level == Level::client && group.quantity == Quantity::sums;
  if (is_sum && noise != statement.each.correlation)
    return "noise " + text_of(noise) + "; the statement is for " + text_of(statement.each.correlation);
  if (!noise.on()) return {};
  if (!is_sum) return "correlated noise on releases other than clients' sums";
  if (group.count() > 1) return std::to_string(group.count()) + " correlated releases in a round; there must be at most one";
  if (group.first >= noise.horizon)
    return "release number " + std::to_string(group.first) + " of noise that was planned for " + std::to_string(noise.horizon) +
           " rounds";
  return {};
}

std::string wrong_runs(const LedgerGroup& group) {
  if (!in(group.largest_weight, 0, kMaxWeight)) return weight_error("weight", group.largest_weight);
  if (group.first > kMaxReleases) return "release number " + std::to_string(group.first) + "; at most 2^40 is supported";
  std::uint64_t count = 0;
  for (const ReleaseRun& run : group.runs) {
    if (!in(run.noise_multiplier, 0, kMaxWeight)) return weight_error("noise multiplier", run.noise_multiplier);
    if (!in(run.clip, 0, kMaxWeight)) return weight_error("clip", run.clip);
    if (run.count > kMaxReleases || (count += run.count) > kMaxReleases)
      return std::to_string(std::max(run.count, count)) + " releases in a round; at most 2^40 are supported";
  }
  return {};
}

}  // namespace

std::string malformed(const LedgerGroups& groups, const LedgerHeader& header) {
  for (const LedgerGroup& group : groups) {
    const LedgerStatement* statement = header.at(group.level);
    if (statement == nullptr)
      return "releases at " + std::string(name_of(group.level)) + " level, for which the ledger has no statement";
    for (const std::string& wrong : {wrong_clients(group, *statement, header.clients), wrong_draw(group, *statement),
                                     wrong_shares(group, *statement), wrong_correlation(group, *statement), wrong_runs(group)})
      if (!wrong.empty()) return wrong;
  }
  return {};
}

// --- what a round may hold ---
namespace {

constexpr std::int64_t kAll = -1;

// Releases are numbered separately for each level, quantity and client (kAll: every client).
using Owner = std::tuple<Level, Quantity, std::int64_t>;

void for_each_owner(const LedgerGroup& group, const auto& visit) {
  if (group.clients.empty()) visit(Owner{group.level, group.quantity, kAll});
  for (const ClientId client : group.clients) visit(Owner{group.level, group.quantity, client});
}

std::string named(const Owner& owner) {
  const auto client = std::get<2>(owner);
  return client == kAll ? "every client" : "client " + std::to_string(client);
}

// Returns how `executed` exceeds `reserved`; empty if each executed release was reserved by number and has at least the reserved
// noise.
std::string beyond(const LedgerGroup& executed, const LedgerGroup& reserved) {
  if (executed.each.sampling != reserved.each.sampling || executed.each.rate != reserved.each.rate)
    return "executed releases with sampling " + std::string(name_of(executed.each.sampling)) + " at rate " +
           number_text(executed.each.rate) + "; reserved: sampling " + std::string(name_of(reserved.each.sampling)) +
           " at rate " + number_text(reserved.each.rate);
  if (executed.each.neighbours != reserved.each.neighbours) return "executed releases under neighbors other than those reserved";
  if (executed.each.law != reserved.each.law || executed.each.shares != reserved.each.shares)
    return "executed releases with other noise than reserved";
  if (executed.each.correlation != reserved.each.correlation)
    return "executed releases with noise correlated differently than reserved";
  if (executed.each.rows > reserved.each.rows) return "executed releases with more rows of a record than reserved";
  if (executed.each.adaptive && !reserved.each.adaptive) return "executed adaptive releases, which were not reserved";
  const std::uint64_t count = executed.count();
  const std::uint64_t left = executed.first < reserved.first || executed.first - reserved.first > reserved.count()
                                 ? 0
                                 : reserved.count() - (executed.first - reserved.first);
  if (count > left)
    return "executed " + std::to_string(count) + " releases from number " + std::to_string(executed.first) + "; " +
           std::to_string(left) + " were reserved";
  if (executed.each.passes > reserved.each.passes)
    return "executed " + std::to_string(executed.each.passes) + " passes; " + std::to_string(reserved.each.passes) +
           " were reserved";
  auto run = reserved.runs.begin();
  std::uint64_t skip = executed.first - reserved.first;  // releases of *run to skip
  for (const ReleaseRun& done : executed.runs)
    for (std::uint64_t at = 0; at < done.count;) {
      while (skip >= run->count) skip -= run++->count;
      if (done.noise_multiplier < run->noise_multiplier)
        return "executed a release with noise multiplier " + number_text(done.noise_multiplier) + "; " +
               number_text(run->noise_multiplier) + " was reserved";
      const std::uint64_t step = std::min(done.count - at, run->count - skip);
      at += step;
      skip += step;
    }
  return {};
}

}  // namespace

std::string repeated_address(const LedgerGroups& groups) {
  struct Stretch {
    Owner owner;
    std::uint64_t first;
    std::uint64_t end;
  };
  std::vector<Stretch> stretches;
  for (const LedgerGroup& group : groups)
    if (const std::uint64_t count = group.count(); count > 0)
      for_each_owner(group, [&](const Owner& owner) { stretches.push_back({owner, group.first, group.first + count}); });
  std::ranges::sort(stretches, {}, [](const Stretch& stretch) { return std::pair(stretch.owner, stretch.first); });
  const auto address = [](const Stretch& stretch, std::uint64_t first) {
    return named(stretch.owner) + ", release " + std::to_string(first);
  };
  for (std::size_t i = 1; i < stretches.size(); ++i)
    if (stretches[i].owner == stretches[i - 1].owner && stretches[i].first < stretches[i - 1].end)
      return address(stretches[i], stretches[i].first);
  // Compares stretches of all clients with stretches of single clients.
  for (const Stretch& all : stretches) {
    if (std::get<2>(all.owner) != kAll) continue;
    for (const Stretch& one : stretches)
      if (std::get<2>(one.owner) != kAll && std::get<0>(one.owner) == std::get<0>(all.owner) &&
          std::get<1>(one.owner) == std::get<1>(all.owner) && one.first < all.end && all.first < one.end)
        return address(one, std::max(one.first, all.first));
  }
  return {};
}

std::string excess(const LedgerGroups& executed, const LedgerGroups& reserved) {
  if (executed == reserved) return {};
  if (const std::string twice = repeated_address(executed); !twice.empty()) return twice + " was executed twice";
  struct OwnerHash {
    std::size_t operator()(const Owner& owner) const {
      return static_cast<std::size_t>(std::get<2>(owner) * 8 + static_cast<int>(std::get<0>(owner)) * 4 +
                                      static_cast<int>(std::get<1>(owner)));
    }
  };
  std::unordered_map<Owner, std::vector<std::size_t>, OwnerHash> reserved_for;
  for (std::size_t i = 0; i < reserved.size(); ++i)
    for_each_owner(reserved[i], [&](const Owner& owner) { reserved_for[owner].push_back(i); });
  std::map<std::pair<std::size_t, std::size_t>, std::string> compared;
  for (std::size_t i = 0; i < executed.size(); ++i) {
    std::string why;
    for_each_owner(executed[i], [&](const Owner& owner) {
      if (!why.empty()) return;
      std::string nearest = "executed releases, but none were reserved";
      const auto covered = [&](const Owner& holder) {
        const auto found = reserved_for.find(holder);
        if (found == reserved_for.end()) return false;
        for (const std::size_t j : found->second) {
          auto [entry, fresh] = compared.try_emplace({i, j});
          if (fresh) entry->second = beyond(executed[i], reserved[j]);
          if (entry->second.empty()) return true;
          nearest = entry->second;
        }
        return false;
      };
      if (covered(owner) || covered({std::get<0>(owner), std::get<1>(owner), kAll})) return;
      why = named(owner) + " " + nearest;
    });
    if (!why.empty()) return why;
  }
  return {};
}

std::string breaks_sensitivity(const LedgerGroups& groups, const LedgerHeader& header) {
  for (const LedgerGroup& group : groups) {
    if (group.level != Level::client) continue;
    const double counted = header.at(Level::client)->largest_weight;
    if (group.largest_weight > counted)
      return "an update has weight " + number_text(group.largest_weight) + "; the sensitivity allows at most " +
             number_text(counted);
  }
  return {};
}

// --- text ---

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
