#include "dp/correlations/tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>
#include <vector>

#include "core/error.hpp"
#include "core/stop.hpp"

namespace fedstride {

constexpr double kTreeRoundedUp = 1 + 1e-13;

std::size_t tree_depth(std::uint64_t steps) { return static_cast<std::size_t>(std::bit_width(steps)); }

namespace {

/// best[a * size + z] is the most that a row of consecutive steps adds to the square, over all patterns whose first participation
/// is at least a units after the row's first step and whose last is at least z units before its last step. The price of each
/// participation is subtracted.
struct Steps {
  double width = 0;
  std::vector<double> best = {};
};

/// Max-plus products of Steps tables. Distances to the ends of a row are rounded down to units, which only overstates a pattern's
/// room; a unit is longer than one step only if there would be more than kMaxUnits. A node counts as many participations as fit
/// in it and in its halves.
class Patterns {
 public:
  Patterns(std::uint64_t separation, double most, double price)
      : separation_(static_cast<double>(separation)), most_(most), price_(price) {
    const double units = price > 0 ? kMaxUnits / 2 : kMaxUnits;  // since several prices are tried
    while (std::floor((separation_ - 1) / unit_) >= units) unit_ *= 2;
    size_ = static_cast<std::size_t>((separation_ - 1) / unit_) + 1;
  }

  /// The table of a tree, from the tables of the whole nodes that tile its steps, largest first.
  Steps tree(std::uint64_t steps) const {
    Steps all, node;
    std::vector<Steps> nodes;
    for (std::size_t height = 0; height < tree_depth(steps); ++height) {
      node = std::ldexp(1.0, static_cast<int>(height)) <= separation_ ? single(height) : joined(node, node, true);
      if ((steps >> height & 1) != 0) nodes.push_back(node);
    }
    for (const Steps& tile : nodes | std::views::reverse) all = joined(all, tile, false);
    return all;
  }

  /// The table of `times` copies of a tree in sequence.
  Steps repeated(Steps tree, std::uint64_t times) const {
    Steps all;
    for (; times > 0; times /= 2) {
      if (times % 2 != 0) all = joined(all, tree, false);
      if (times > 1) tree = joined(tree, tree, false);
    }
    return all;
  }

  /// The table of two rows in sequence, including the node's own term if they are the halves of a node.
  Steps joined(const Steps& left, const Steps& right, bool is_node) const {
    if (left.best.empty() || right.best.empty()) return left.best.empty() ? right : left;
    check_stop();
    Steps both{.width = left.width + right.width, .best = std::vector<double>(size_ * size_)};
    for (std::size_t a = 0; a < size_; ++a)
      for (std::size_t z = 0; z < size_; ++z) {
        const double fit = count(both.width, a, z);
        double& best = both.best[a * size_ + z];
        for (std::size_t s = 0; s < size_; ++s) {  // units left of the border; conditions on the ends may reach across it
          const std::size_t before = std::max(s, beyond(z, right.width));
          const std::size_t after = std::max(across(s), beyond(a, left.width));
          const double in_it = is_node ? std::min(fit, count(left.width, a, before) + count(right.width, after, z)) : 0;
          best = std::max(best, left.best[a * size_ + before] + right.best[after * size_ + z] + in_it * in_it);
        }
      }
    return both;
  }

 private:
  static constexpr double kMaxUnits = 40;

  /// The table of a node no wider than the separation, so with at most one participation; includes the nodes within it.
  Steps single(std::size_t height) const {
    Steps node{.width = std::ldexp(1.0, static_cast<int>(height)), .best = std::vector<double>(size_ * size_)};
    for (std::size_t a = 0; a < size_; ++a)
      for (std::size_t z = 0; z < size_; ++z)
        node.best[a * size_ + z] = count(node.width, a, z) * std::max(0.0, static_cast<double>(height) + 1 - price_);
    return node;
  }
  double count(double width, std::size_t a, std::size_t z) const {
    const double room = width - 1 - static_cast<double>(a + z) * unit_;
    return room < 0 ? 0 : std::min(most_, std::floor(room / separation_) + 1);
  }
  /// The number of units after a border that must be without participation if the last participation is in unit s before the
  /// border.
  std::size_t across(std::size_t s) const {
    const auto free = static_cast<std::size_t>(separation_ / unit_);
    return free > s ? free - s - 1 : 0;
  }
  /// The number of these units that extend beyond a row of this width.
  std::size_t beyond(std::size_t units, double width) const {
    return static_cast<std::size_t>(std::max(0.0, static_cast<double>(units) - std::ceil(width / unit_)));
  }

  double separation_;
  double most_;
  double price_;
  double unit_ = 1;
  std::size_t size_ = 1;
};

/// A bound on the square, level by level: a node over w steps has at most ceil(w / separation) of the `all` participations, and a
/// level has at most `all`.
double square_by_levels(std::uint64_t length, std::uint64_t separation, double all) {
  double square = 0;
  for (std::size_t level = 0; level < tree_depth(length); ++level) {
    const std::uint64_t width = std::uint64_t{1} << level;
    square += all * std::min(all, static_cast<double>((width - 1) / separation + 1));
  }
  return square;
}

}  // namespace

double tree_sensitivity(std::uint64_t steps, std::uint64_t separation, std::uint64_t most, std::uint64_t restart) {
  if (steps == 0 || steps > (std::uint64_t{1} << 40))
    throw usage_error("the number of a tree's steps is out of range; valid: 1 to 2^40");
  if (separation == 0) throw usage_error("separation is 0; it must be at least 1");
  const std::uint64_t length = restart > 0 ? std::min(restart, steps) : steps;
  const std::uint64_t fit = (steps - 1) / separation + 1;
  const bool limited = most > 0 && most < fit;
  const auto all = static_cast<double>(limited ? most : fit);
  if (all == 1) return std::sqrt(static_cast<double>(tree_depth(length))) * kTreeRoundedUp;
  // Lagrangian bound: for any price per participation, the maximum over patterns net of the price, plus the price of all allowed
  // participations.
  const auto at_price = [&](double price) {
    const Patterns patterns(separation, all, price);
    const Steps trees = patterns.repeated(patterns.tree(length), steps / length);
    const std::uint64_t rest = steps % length;
    return (rest > 0 ? patterns.joined(trees, patterns.tree(rest), false) : trees).best.front() + price * (price > 0 ? all : 0);
  };
  double square = std::min(at_price(0), square_by_levels(length, separation, all));
  if (limited) {
    double low = 0, high = 2 * square / all;
    constexpr int kTries = 16;
    for (int i = 0; i < kTries; ++i) {
      const double left = low + (high - low) / 3, right = high - (high - low) / 3;
      const double at_left = at_price(left), at_right = at_price(right);
      square = std::min({square, at_left, at_right});
      (at_left < at_right ? high : low) = at_left < at_right ? right : left;
    }
  }
  return std::sqrt(square) * kTreeRoundedUp;
}

double tree_variance(std::uint64_t t, bool better) {
  if (!better) return std::popcount(t);
  double variance = 0;
  for (int height = 0; height < 64; ++height)
    if ((t >> height & 1) != 0) variance += 1 / (2 * (1 - std::ldexp(1.0, -(height + 1))));
  return variance;
}

std::string TreeNoise::objection(const Correlation& correlation) const { return refuse_coefficients(correlation); }

std::vector<std::pair<std::string_view, std::uint64_t>> TreeNoise::stated(const Correlation& correlation) const {
  return {{"tree-restart", correlation.restart}};
}

double TreeNoise::sensitivity(const Correlation& correlation, std::uint64_t rounds, std::uint64_t most) const {
  return tree_sensitivity(rounds, correlation.separation, most, correlation.restart) * kSensitivityRoundedUp;
}

std::size_t TreeNoise::kept_vectors(const Correlation& correlation) const {
  return tree_depth(correlation.restart > 0 ? std::min(correlation.restart, correlation.horizon) : correlation.horizon);
}

namespace {

/// The height of the largest node that ends in round t.
std::size_t height_at(const Correlation& correlation, std::uint64_t t) {
  return static_cast<std::size_t>(std::countr_one(correlation.restart > 0 ? t % correlation.restart : t));
}

}  // namespace

// The sums of the nodes that end in this round; `kept` has those of the last left children.
void TreeNoise::encode(const Correlation& correlation, const NoiseRow& row,
                       function_ref<void(std::size_t, std::span<const double>)> put) const {
  std::vector<double> node(row.values.begin(), row.values.end());
  const std::size_t height = height_at(correlation, row.t);
  for (std::size_t h = 0; h < height; ++h) {
    const double* const left = row.kept[h].data() + row.first;
    for (std::size_t i = 0; i < node.size(); ++i) node[i] += left[i];
    put(h + 1, node);
  }
  std::ranges::copy(node, row.kept[height].begin() + static_cast<std::ptrdiff_t>(row.first));
}

void TreeNoise::correlate(const Correlation& correlation, const NoiseRow& row,
                          function_ref<std::span<const double>(std::size_t)> draw) const {
  std::vector<double> estimate(row.values.begin(), row.values.end());
  std::vector<double> ended(row.values.size());
  double variance = 1;
  const std::size_t height = height_at(correlation, row.t);
  for (std::size_t h = 0; h < height; ++h) {
    const double own = 2 * variance / (1 + 2 * variance);
    const double* const left = row.kept[h].data() + row.first;
    const std::span<const double> node = draw(h + 1);
    for (std::size_t i = 0; i < estimate.size(); ++i) {
      ended[i] += left[i];
      estimate[i] = own * node[i] + (1 - own) * (left[i] + estimate[i]);
    }
    variance = own;  // 2 v / (1 + 2 v)
  }
  std::ranges::copy(estimate, row.kept[height].begin() + static_cast<std::ptrdiff_t>(row.first));
  for (std::size_t i = 0; i < estimate.size(); ++i) row.values[i] = estimate[i] - ended[i];
}

}  // namespace fedstride
