#include "dp/accountants/tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace fedstride {

std::size_t tree_depth(std::uint64_t steps) { return static_cast<std::size_t>(std::bit_width(steps)); }

namespace {

constexpr double kMostWork = 1e8;

bool is_exact(std::uint64_t steps, std::uint64_t separation) {
  return static_cast<double>(separation) * static_cast<double>(steps) * static_cast<double>(steps) <= kMostWork;
}

void check_tree(std::uint64_t steps, std::uint64_t separation) {
  if (steps == 0 || steps > (std::uint64_t{1} << 40)) throw usage_error("steps of a tree: valid: 1 to 2^40");
  if (separation == 0) throw usage_error("separation is 0; it must be at least 1, any two rounds");
}

/// Each of n participations is in nodes with n, or as many as fit into the node's width.
double bound_of(std::uint64_t steps, std::uint64_t separation, double n) {
  double square = 0;
  for (std::size_t level = 0; level < tree_depth(steps); ++level) {
    const std::uint64_t width = std::uint64_t{1} << level;
    square += n * std::min(n, static_cast<double>((width - 1) / separation + 1));
  }
  return square;
}

/// Best values of stretches of so many steps: with n participations, the first at `left` or later from the one end, the last at
/// `right` or earlier from the other.
class Best {
 public:
  static constexpr double kNone = -1;

  Best(std::uint64_t length, std::uint64_t separation)
      : steps(length), gaps_(separation), most((length - 1) / separation + 1), values_(gaps_ * gaps_ * (most + 1), kNone) {}
  double& at(std::uint64_t left, std::uint64_t right, std::uint64_t n) { return values_[(n * gaps_ + left) * gaps_ + right]; }
  double at(std::uint64_t left, std::uint64_t right, std::uint64_t n) const {
    return n > most || left >= gaps_ || right >= gaps_ ? kNone : values_[(n * gaps_ + left) * gaps_ + right];
  }

  std::uint64_t steps;

 private:
  std::uint64_t gaps_;  ///< distances below the separation are all that matter

 public:
  std::uint64_t most;

 private:
  std::vector<double> values_;
};

/// Two stretches side by side, under a node of their own or not.
Best joined(const Best& one, const Best& other, std::uint64_t separation, bool has_node) {
  Best both(one.steps + other.steps, separation);
  const auto beyond = [](std::uint64_t gap, std::uint64_t steps) { return gap > steps ? gap - steps : 0; };
  for (std::uint64_t left = 0; left < separation; ++left)
    for (std::uint64_t right = 0; right < separation; ++right) {
      both.at(left, right, 0) = 0;
      for (std::uint64_t n = 1; n <= both.most; ++n) {
        double best = std::max(one.at(left, beyond(right, other.steps), n), other.at(beyond(left, one.steps), right, n));
        const std::uint64_t least = n > other.most ? n - other.most : 1;
        for (std::uint64_t of_one = std::max<std::uint64_t>(least, 1); of_one < n && of_one <= one.most; ++of_one)
          for (std::uint64_t gap = 0; gap < separation; ++gap) {
            const double a = one.at(left, gap, of_one);
            if (a < 0) break;  // nor with a larger gap
            const double b = other.at(separation - 1 - gap, right, n - of_one);
            if (b >= 0) best = std::max(best, a + b);
          }
        if (best >= 0) both.at(left, right, n) = best + (has_node ? static_cast<double>(n * n) : 0);
      }
    }
  return both;
}

std::vector<double> exact_squares(std::uint64_t steps, std::uint64_t separation) {
  Best leaf(1, separation);
  for (std::uint64_t left = 0; left < separation; ++left)
    for (std::uint64_t right = 0; right < separation; ++right) leaf.at(left, right, 0) = 0;
  leaf.at(0, 0, 1) = 1;
  std::vector<Best> nodes{leaf};  // by height
  while (nodes.back().steps * 2 <= steps) nodes.push_back(joined(nodes.back(), nodes.back(), separation, true));
  Best all = nodes.back();
  for (std::size_t height = nodes.size() - 1; height-- > 0;)
    if ((steps >> height & 1) != 0) all = joined(all, nodes[height], separation, false);
  std::vector<double> squares;
  for (std::uint64_t n = 0; n <= all.most; ++n) squares.push_back(all.at(0, 0, n));
  return squares;
}

}  // namespace

std::vector<double> tree_squares(std::uint64_t steps, std::uint64_t separation) {
  check_tree(steps, separation);
  static std::mutex mutex;
  static std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<double>> known;  // accountants ask again and again
  const std::lock_guard lock(mutex);
  std::vector<double>& squares = known[{steps, separation}];
  if (squares.empty()) squares = exact_squares(steps, std::min(separation, steps));
  return squares;
}

double tree_sensitivity(std::uint64_t steps, std::uint64_t separation, std::uint64_t most) {
  check_tree(steps, separation);
  const std::uint64_t fit = (steps - 1) / separation + 1;
  const std::uint64_t all = most > 0 ? std::min(most, fit) : fit;
  double square = 0;
  if (is_exact(steps, separation)) {
    const std::vector<double> squares = tree_squares(steps, separation);
    for (std::uint64_t n = 0; n <= all; ++n) square = std::max(square, squares[n]);
  } else {
    square = bound_of(steps, separation, static_cast<double>(all));
  }
  return std::sqrt(square) * (1 + 1e-15);
}

double tree_square_a_turn(std::uint64_t steps, std::uint64_t separation, std::uint64_t most) {
  check_tree(steps, separation);
  const std::uint64_t fit = (steps - 1) / separation + 1;
  const std::uint64_t all = most > 0 ? std::min(most, fit) : fit;
  // The bound rises with n.
  if (!is_exact(steps, separation)) return bound_of(steps, separation, static_cast<double>(all)) / static_cast<double>(all);
  const std::vector<double> squares = tree_squares(steps, separation);
  double largest = 0;
  for (std::uint64_t n = 1; n <= all; ++n) largest = std::max(largest, squares[n] / static_cast<double>(n));
  return largest * (1 + 1e-15);
}

double tree_variance(std::uint64_t t, bool better) {
  if (!better) return std::popcount(t);
  double variance = 0;
  for (int height = 0; height < 64; ++height)
    if ((t >> height & 1) != 0) variance += 1 / (2 * (1 - std::ldexp(1.0, -(height + 1))));
  return variance;
}

}  // namespace fedstride
