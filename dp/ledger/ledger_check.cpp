#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "core/text.hpp"
#include "dp/ledger/ledger_entry.hpp"

namespace fedstride {
namespace {

constexpr std::int64_t kAll = -1;

// Releases are numbered separately for each level, quantity and client (kAll: every client).
using Owner = std::tuple<Level, Quantity, std::int64_t>;

template <class Visitor>
void for_each_owner(const LedgerGroup& group, const Visitor& visit) {
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

}  // namespace fedstride
