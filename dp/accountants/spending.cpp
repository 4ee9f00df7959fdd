#include "dp/accountants/spending.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/stop.hpp"

namespace fedstride {
namespace {

auto identity(const Releases& releases) {
  return std::tuple(releases.sampling, releases.neighbours, releases.rate, releases.noise_multiplier, releases.adaptive,
                    releases.law, releases.shares, releases.correlation, releases.rows);
}

}  // namespace

std::uint64_t lots_an_epoch(double rate) {
  constexpr double kMaxLots = 1e15;
  return static_cast<std::uint64_t>(std::clamp(std::round(1 / rate), 1.0, kMaxLots));
}

// Entries stay in the order of first appearance. Schedules that never repeat a multiplier make the vector long, so only the last
// few entries are searched for an equal one: merging saves space but is not needed for correctness.
void merge(Spending& spending, const Releases& more) {
  if (more.count == 0) return;
  Releases added = more;
  if (!has_passes(added.sampling))
    added.passes = 0;
  else if (added.passes == 0)
    added.passes = added.count;
  constexpr std::size_t kLookBack = 16;
  std::size_t looked_at = 0;
  for (auto entry = spending.rbegin(); entry != spending.rend() && looked_at < kLookBack; ++entry, ++looked_at) {
    if (identity(*entry) != identity(added)) continue;
    entry->count += added.count;
    entry->passes += added.passes;
    entry->rounds = std::max(entry->rounds, added.rounds);
    entry->most = entry->most == 0 || added.most == 0 ? 0 : std::max(entry->most, added.most);
    return;
  }
  spending.push_back(added);
}

void merge(Spending& spending, const Spending& more) {
  for (const Releases& releases : more) merge(spending, releases);
}

Spending merged(std::span<const Releases> spending) {
  Spending sorted;
  for (Releases releases : spending) {
    if (has_passes(releases.sampling)) {
      releases.sampling = Sampling::full;
      if (releases.passes > 0) releases.count = std::min(releases.count, releases.passes);
    }
    if (releases.sampling == Sampling::full) releases.rate = 1;
    if (releases.rate == 1) releases.sampling = Sampling::full;
    if (releases.sampling == Sampling::full) releases.noise_multiplier /= static_cast<double>(std::exchange(releases.rows, 1));
    releases.passes = 0;
    if (releases.count > 0) sorted.push_back(releases);
  }
  std::ranges::sort(sorted, {}, identity);
  Spending result;
  for (const Releases& releases : sorted) {
    if (!result.empty() && identity(result.back()) == identity(releases)) {
      result.back().count += releases.count;
    } else {
      result.push_back(releases);
    }
  }
  return result;
}

Spending exposure(std::span<const ReleaseRun> runs, const Releases& like) {
  Spending spending;
  const auto add = [&](const ReleaseRun& run, std::uint64_t passes) {
    Releases releases = like;
    releases.noise_multiplier = run.noise_multiplier;
    releases.count = run.count;
    releases.passes = passes;
    merge(spending, releases);
  };
  if (!has_passes(like.sampling) || like.passes == 0) {
    for (const ReleaseRun& run : runs) add(run, 0);
    return spending;
  }
  std::vector<ReleaseRun> sorted(runs.begin(), runs.end());
  std::ranges::stable_sort(sorted, {}, &ReleaseRun::noise_multiplier);
  std::uint64_t left = like.passes;
  for (const ReleaseRun& run : sorted) {
    const std::uint64_t passes = std::min(left, run.count);
    if (passes > 0) add(run, passes);
    left -= passes;
  }
  return spending;
}

Spending coarser(const Spending& spending, std::size_t most) {
  if (spending.size() <= most) return spending;
  for (double width = 1e-3;; width *= 2) {  // cell width, in logarithms
    using Cell = std::tuple<Sampling, Neighbours, bool, double, double, NoiseLaw, NoiseShares, std::uint64_t>;
    std::map<Cell, Releases> cells;
    for (Releases releases : spending) {
      check_stop();
      const double noise = releases.noise_multiplier;
      const double rate = releases.rate;
      releases.noise_multiplier = std::min(noise, std::exp(std::max(width * std::floor(std::log(noise) / width), -230.0)));
      if (releases.rows == 1) releases.rate = std::clamp(std::exp(width * std::ceil(std::log(rate) / width)), rate, 1.0);
      const auto [cell, is_new] = cells.try_emplace(Cell{releases.sampling, releases.neighbours, releases.adaptive, releases.rate,
                                                         releases.noise_multiplier, releases.law, releases.shares, releases.rows},
                                                    releases);
      if (!is_new) cell->second.count += releases.count;
      if (cells.size() > most) break;
    }
    if (cells.size() > most) continue;
    Spending fewer;
    for (const auto& [cell, releases] : cells) fewer.push_back(releases);
    return fewer;
  }
}

Spending as_in_papers(std::span<const ReleaseRun> runs, const Releases& like) {
  Releases poisson = like;
  if (poisson.sampling == Sampling::shuffle) poisson.sampling = Sampling::poisson;
  return exposure(runs, poisson);
}

bool costs_no_less(const Spending& more, const Spending& less) {
  return more.size() >= less.size() &&
         std::equal(less.begin(), less.end(), more.begin(), [](const Releases& b, const Releases& a) {
           return a.sampling == b.sampling && a.neighbours == b.neighbours && a.adaptive == b.adaptive &&
                  a.noise_multiplier <= b.noise_multiplier &&
                  (a.rate == b.rate || (a.rate > b.rate && draw_of(a.sampling).grows_with_rate())) && a.count >= b.count &&
                  a.passes >= b.passes && a.rows >= b.rows;
         });
}

namespace {

// A spending that costs no less than either: releases of one kind are matched one to one, and those without a match are added.
Spending bounding_both(Spending a, const Spending& b) {
  std::vector<bool> is_matched(a.size(), false);
  for (const Releases& one : b) {
    const auto is_alike = [&](const Releases& other) {
      Releases alike = other;
      if (draw_of(one.sampling).grows_with_rate()) alike.rate = one.rate;
      return identity(alike) == identity(one);
    };
    std::size_t at = 0;
    while (at < is_matched.size() && (is_matched[at] || !is_alike(a[at]))) ++at;
    if (at == is_matched.size()) {
      a.push_back(one);
      continue;
    }
    is_matched[at] = true;
    a[at].rate = std::max(a[at].rate, one.rate);
    a[at].count = std::max(a[at].count, one.count);
    a[at].passes = std::max(a[at].passes, one.passes);
    a[at].rounds = std::max(a[at].rounds, one.rounds);
    a[at].most = a[at].most == 0 || one.most == 0 ? 0 : std::max(a[at].most, one.most);
  }
  return a;
}

}  // namespace

std::vector<Spending> bounding(std::vector<Spending> all, std::size_t most) {
  constexpr std::size_t kMostCompared = 200;
  std::vector<Spending> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto is_bound = [&](std::size_t j) {
      return j != i && costs_no_less(all[j], all[i]) && (j < i || !costs_no_less(all[i], all[j]));
    };
    bool is_bounded = all[i].empty();
    for (std::size_t j = 0; j < all.size() && all.size() <= kMostCompared && !is_bounded; ++j) is_bounded = is_bound(j);
    if (!is_bounded) kept.push_back(all[i]);
  }
  if (kept.size() <= most) return kept;
  const auto rate = [](const Spending& one) { return std::ranges::max(one, {}, &Releases::rate).rate; };
  std::ranges::stable_sort(kept, {}, rate);
  std::vector<Spending> groups(most);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    Spending& group = groups[i * most / kept.size()];
    group = bounding_both(std::move(group), kept[i]);
  }
  return groups;
}

bool is_correlated(std::span<const Releases> spending) {
  return std::ranges::any_of(spending, [](const Releases& some) { return some.correlation.on(); });
}

Spending without_correlation(std::span<const Releases> spending) {
  Spending all;
  for (const Releases& some : spending) {
    Releases one = some;
    if (some.correlation.on()) {
      one.correlation = {};
      one.rounds = one.most = 0;
      one.count = 0;
      if (some.rounds == 0) continue;
      const bool amplified = some.rate < 1;  // the plan sets a rate only for amplified noise
      one.count = amplified ? participations(some.correlation, some.rounds, some.most) : 1;
      one.noise_multiplier /= amplified ? mechanism_of(some.correlation).norm_in_groups(some.correlation)
                                        : correlated_sensitivity(some.correlation, some.rounds, some.most);
    }
    merge(all, one);
  }
  return all;
}

Releases of_rounds(Releases release, std::uint64_t rounds, std::uint64_t most) {
  (release.correlation.on() ? release.rounds : release.count) = rounds;
  if (release.correlation.on()) release.most = most;
  return release;
}

}  // namespace fedstride
