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

std::string malformed(const LedgerGroups& groups, const LedgerHeader& header) {
  const auto in = [](double value, double low, double high) { return value > low && value <= high; };
  constexpr double kMaxWeight = 1e300;
  const std::string valid_weight = "; it must be above 0 and at most " + number_text(kMaxWeight);
  constexpr std::uint64_t kMaxReleases = std::uint64_t{1} << 40;
  for (const LedgerGroup& group : groups) {
    const LedgerStatement* statement = header.at(group.level);
    const std::string level(name_of(group.level));
    if (statement == nullptr) return "releases at " + level + " level, for which the ledger has no statement";
    if (statement->each.neighbours != group.each.neighbours)
      return "releases for " + std::string(name_of(group.each.neighbours)) + " neighbours; the statement is for " +
             std::string(name_of(statement->each.neighbours));
    const bool named = statement->participations && group.quantity == Quantity::sums;
    if (group.level == Level::client && !group.clients.empty() && !named)
      return "releases at client level are for client " + std::to_string(group.clients.front()) +
             "; every client must be charged";
    if (std::ranges::adjacent_find(group.clients) != group.clients.end())
      return "client " + std::to_string(*std::ranges::adjacent_find(group.clients)) + " is listed twice for the same releases";
    if (!group.clients.empty() && std::ranges::max(group.clients) >= header.clients)
      return "client " + std::to_string(std::ranges::max(group.clients)) + " is not in the ledger; the last is " +
             std::to_string(header.clients - 1);
    if (!in(group.each.rate, 0, 1)) return "sampling rate " + number_text(group.each.rate) + "; it must be in (0, 1]";
    const Draw& draw = draw_of(group.each.sampling);
    const std::string sampling(name_of(group.each.sampling));
    if (const std::string wrong = draw.wrong_rate(group.each.rate); !wrong.empty())
      return "sampling rate " + number_text(group.each.rate) + " with sampling " + sampling + "; " + wrong;
    if (!draw.has_bound(group.each.neighbours))
      return "sampling " + sampling + " for " + std::string(name_of(group.each.neighbours)) + " neighbours, which has no bound";
    if (draw.has_passes()) {
      if (group.level == Level::client && group.count() != 1)
        return std::to_string(group.count()) + " releases of clients with sampling " + sampling + " in a round; there must be 1";
      const std::uint64_t lots = lots_an_epoch(group.each.rate);
      if (group.each.passes > 0 && group.count() > group.each.passes * lots)
        return std::to_string(group.count()) + " releases, too many for " + counted(group.each.passes, "pass", "passes") +
               " over " + counted(lots, "lot");
    }
    if (group.each.rows == 0 || group.each.rows > kMaxRowsOfRecord)
      return std::to_string(group.each.rows) + " rows of a record; there must be from 1 to " + std::to_string(kMaxRowsOfRecord);
    if (group.each.rows > 1 && (!statement->users || group.each.neighbours == Neighbours::replace_one || !draw.draws_rows()))
      return std::to_string(group.each.rows) + " rows of a record are not allowed with sampling " + sampling + " for " +
             std::string(name_of(group.each.neighbours)) + " neighbours of " + (statement->users ? "users" : level + "s");
    if (!in(group.largest_weight, 0, kMaxWeight)) return "weight " + number_text(group.largest_weight) + valid_weight;
    if (group.each.law != NoiseLaw::gaussian) {
      constexpr std::uint64_t kMaxDimension = std::uint64_t{1} << 40;
      if (group.level != Level::client || !statement->place().has_shares)
        return "noise in shares at " + level + " level, whose statement has noise at '" + statement->noise_at + "'";
      if (group.each.sampling != Sampling::full) return "noise in shares must have sampling full, not " + sampling;
      if (!in(group.each.shares.step, 0, 1)) return "a step of " + number_text(group.each.shares.step) + "; it must be in (0, 1]";
      if (group.each.shares.dimension == 0 || group.each.shares.dimension > kMaxDimension)
        return "a dimension of " + std::to_string(group.each.shares.dimension) + "; it must be from 1 to 2^40";
      if (group.each.shares.count == 0 || group.each.shares.count + statement->colluders > statement->survivors)
        return counted(group.each.shares.count, "share") + " of noise; " + counted(statement->survivors, "survivor") + " and " +
               counted(statement->colluders, "colluder") + " guarantee " +
               std::to_string(statement->survivors - std::min(statement->survivors, statement->colluders));
    } else if (group.level == Level::client && group.quantity == Quantity::sums && statement->place().has_shares) {
      return "Gaussian noise, but the statement has noise at '" + statement->noise_at + "'";
    }
    if (group.level == Level::client && group.quantity == Quantity::sums && group.each.correlation != statement->each.correlation)
      return "noise '" + std::string(choice_name(group.each.correlation.mechanism)) + "' with separation " +
             std::to_string(group.each.correlation.separation) + "; the statement is for '" +
             std::string(choice_name(statement->each.correlation.mechanism)) + "' with separation " +
             std::to_string(statement->each.correlation.separation);
    if (group.each.correlation.on()) {
      if (group.level != Level::client || group.quantity != Quantity::sums)
        return "correlated noise on releases other than clients' sums";
      if (group.count() > 1) return std::to_string(group.count()) + " correlated releases in a round; there must be at most one";
      if (group.first >= group.each.correlation.horizon)
        return "release number " + std::to_string(group.first) + " of noise that was planned for " +
               std::to_string(group.each.correlation.horizon) + " rounds";
    }
    if (group.first > kMaxReleases) return "release number " + std::to_string(group.first) + "; at most 2^40 is supported";
    std::uint64_t count = 0;
    for (const ReleaseRun& run : group.runs) {
      if (!in(run.noise_multiplier, 0, kMaxWeight)) return "noise multiplier " + number_text(run.noise_multiplier) + valid_weight;
      if (!in(run.clip, 0, kMaxWeight)) return "clip " + number_text(run.clip) + valid_weight;
      if (run.count > kMaxReleases || (count += run.count) > kMaxReleases)
        return std::to_string(std::max(run.count, count)) + " releases in a round; at most 2^40 are supported";
    }
  }
  return {};
}

}  // namespace fedstride
