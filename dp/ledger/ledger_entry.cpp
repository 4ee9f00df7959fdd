#include "dp/ledger/ledger_entry.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/text.hpp"
#include "dp/accountants/spending.hpp"

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

}  // namespace fedstride
