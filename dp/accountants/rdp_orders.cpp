#include "dp/accountants/rdp_orders.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "core/stop.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/sampled_rdp.hpp"
#include "dp/accountants/spending.hpp"
#include "dp/accountants/user_mixture.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kMaxRdpKinds = 20'000;

std::vector<double> whole(int first, int last, int step = 1) {
  std::vector<double> orders;
  for (int order = first; order <= last; order += step) orders.push_back(order);
  return orders;
}

std::vector<double> default_orders() {
  std::vector<double> orders;
  for (int tenths = 11; tenths < 110; ++tenths) orders.push_back(tenths / 10.0);
  for (int order = 11; order < 64; ++order) orders.push_back(order);
  for (const double order : {128.0, 256.0, 512.0, 1024.0}) orders.push_back(order);
  return orders;
}

std::vector<double> wide_orders() {
  auto orders = default_orders();
  for (const double order : whole(64, 1016, 8)) orders.push_back(order);
  for (const double order : {2048.0, 4096.0, 8192.0, 16384.0}) orders.push_back(order);
  std::ranges::sort(orders);
  orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
  return orders;
}

/// Merges kinds of releases with similar divergence into at most `most`: sigma and rate are grouped into cells of equal relative
/// width.
Spending lumped(const Spending& spending, std::size_t most) {
  for (double width = 0.02;; width *= 2) {
    using Cell = std::tuple<Sampling, Neighbours, long, long, NoiseLaw, NoiseShares, std::uint64_t>;
    std::map<Cell, std::pair<Releases, double>> cells;  // each with its sum of count / sigma^2
    for (const Releases& releases : spending) {
      check_stop();
      const Cell cell{releases.sampling,
                      releases.neighbours,
                      std::lround(std::log(releases.rate) / width),
                      std::lround(std::log(releases.noise_multiplier) / width),
                      releases.law,
                      releases.shares,
                      releases.rows};
      auto& [sum, precision] = cells.try_emplace(cell, releases, 0.0).first->second;
      if (precision > 0) sum.count += releases.count;
      precision += static_cast<double>(releases.count) / (releases.noise_multiplier * releases.noise_multiplier);
    }
    if (cells.size() > most) continue;
    Spending fewer;
    for (auto& [cell, lump] : cells) {
      lump.first.noise_multiplier = std::sqrt(static_cast<double>(lump.first.count) / lump.second);
      fewer.push_back(lump.first);
    }
    return fewer;
  }
}

std::vector<double> sum_of_merged(const Spending& spending, std::span<const double> orders) {
  std::vector<double> sums(orders.size());
  for (const Releases& releases : spending) {
    check_stop();
    const auto values = release_rdp(releases, orders);
    for (std::size_t i = 0; i < orders.size(); ++i) sums[i] += static_cast<double>(releases.count) * values[i];
  }
  return sums;
}

}  // namespace

std::span<const double> order_grid(OrderGrid grid) {
  static const std::vector<double> kDefault = default_orders();
  static const std::vector<double> kMoments = whole(2, 33);
  static const std::vector<double> kWhole = whole(2, 256);
  static const std::vector<double> kWide = wide_orders();
  switch (grid) {
    case OrderGrid::standard:
      break;
    case OrderGrid::ma32:
      return kMoments;
    case OrderGrid::int256:
      return kWhole;
    case OrderGrid::wide:
      return kWide;
  }
  return kDefault;
}

namespace {

/// The divergences of a release with several rows per record, cached because every round of a run needs them.
std::vector<double> mixture_rdp(const Releases& release, std::span<const double> orders) {
  using Key = std::tuple<std::uint64_t, double, double, double>;
  static std::mutex mutex;
  static std::map<Key, double> known;
  constexpr std::size_t kMostKnown = 20'000;
  const double rows = static_cast<double>(release.rows), sigma = release.noise_multiplier;
  constexpr double kMostWork = 1000;  // limit on order * rows; higher orders take long and matter little
  const auto key = [&](double order) { return Key{release.rows, release.rate, sigma, order}; };
  const auto unamplified = [&](double order) { return order * rows * rows / (2 * sigma * sigma); };
  std::map<double, double> exact;
  std::vector<double> unknown;
  {
    const std::lock_guard lock(mutex);
    for (const double order : orders) {
      if (sigma < 0.1 || sigma > 1e4 || order * rows > kMostWork) continue;
      if (const auto found = known.find(key(order)); found != known.end())
        exact[order] = found->second;
      else
        unknown.push_back(order);
    }
  }
  const std::vector<double> computed =
      unknown.empty() ? std::vector<double>{} : user_mixture_rdp({release.rows, release.rate, sigma}, unknown);
  const std::lock_guard lock(mutex);
  if (known.size() + unknown.size() > kMostKnown) known.clear();
  for (std::size_t i = 0; i < unknown.size(); ++i)
    known[key(unknown[i])] = exact[unknown[i]] = std::min(unamplified(unknown[i]), computed[i]);
  std::vector<double> values;
  for (const double order : orders) {
    const auto found = exact.find(order);
    values.push_back(found != exact.end() ? found->second : unamplified(order));
  }
  return values;
}

}  // namespace

std::vector<double> release_rdp(const Releases& release, std::span<const double> orders) {
  const double sigma = release.noise_multiplier;
  const bool sampled = release.rate < 1 && release.law == NoiseLaw::gaussian;
  if (sampled && release.sampling == Sampling::poisson && release.rows > 1) return mixture_rdp(release, orders);
  if (sampled && release.sampling == Sampling::poisson) return poisson_rdp(release.rate, sigma, release.neighbours, orders);
  if (sampled && release.sampling == Sampling::without_replacement)
    return without_replacement_rdp(release.rate, sigma / 2, orders);
  const DistributedNoise noise = distributed_noise(release);
  std::vector<double> values;
  for (const double order : orders) values.push_back(law_of(release.law).rdp(noise, order));
  return values;
}

double release_rdp(const Releases& release, double order) {
  return release_rdp(release, std::span<const double>(&order, 1)).front();
}

std::vector<double> spending_rdp(std::span<const Releases> spending, std::span<const double> orders) {
  return sum_of_merged(merged(spending), orders);
}

BestOrder best_order(std::span<const Releases> spending, std::span<const double> orders,
                     function_ref<double(double order, double divergence)> cost) {
  constexpr std::size_t kFew = 48;
  const Spending all = merged(spending);
  const Spending kinds = coarser(all, kMaxRdpKinds);
  const bool few = kinds.size() <= kFew;
  const auto found = sum_of_merged(few ? kinds : lumped(kinds, kFew), orders);
  std::size_t best = 0;
  for (std::size_t i = 1; i < orders.size(); ++i)
    if (cost(orders[i], found[i]) < cost(orders[best], found[best])) best = i;
  double smallest = cost(orders[best], found[best]);
  if (!few) {
    std::size_t first = best == 0 ? 0 : best - 1;
    std::size_t last = std::min(best + 1, orders.size() - 1);
    auto exact = sum_of_merged(kinds, orders.subspan(first, last - first + 1));
    for (;;) {
      best = first;
      for (std::size_t i = first; i <= last; ++i)
        if (cost(orders[i], exact[i - first]) < cost(orders[best], exact[best - first])) best = i;
      smallest = cost(orders[best], exact[best - first]);
      if (best == first && first > 0) {
        --first;
        exact.insert(exact.begin(), sum_of_merged(kinds, orders.subspan(first, 1)).front());
      } else if (best == last && last + 1 < orders.size()) {
        ++last;
        exact.push_back(sum_of_merged(kinds, orders.subspan(last, 1)).front());
      } else {
        break;
      }
    }
  }
  BestOrder result{orders[best], smallest, best == 0, best + 1 == orders.size(), coarse_warning(all.size(), kMaxRdpKinds)};
  const auto is_bound = [&](const Releases& releases) {
    return releases.sampling == Sampling::poisson && releases.rate < 1 && releases.rows == 1 &&
           !is_poisson_rdp_exact(releases.noise_multiplier, releases.neighbours, result.order);
  };
  if (std::ranges::any_of(kinds, is_bound))
    result.warning =
        "an upper bound: the noise is so low that releases are counted as if it were known which of them drew a record";
  return result;
}

double epsilon_at(Conversion conversion, double order, double divergence, double delta) {
  if (conversion == Conversion::classical) return divergence - std::log(delta) / (order - 1);
  return divergence + std::log1p(-1 / order) - std::log(delta * order) / (order - 1);
}

double log_delta_at(Conversion conversion, double order, double divergence, double epsilon) {
  if (conversion == Conversion::classical) return (order - 1) * (divergence - epsilon);
  return (order - 1) * (divergence - epsilon + std::log1p(-1 / order)) - std::log(order);
}

}  // namespace fedstride
