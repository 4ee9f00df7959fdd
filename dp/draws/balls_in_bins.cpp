#include "dp/draws/balls_in_bins.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/error.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "dp/accountants/accountants.hpp"
#include "dp/accountants/gaussian_curve.hpp"
#include "dp/accountants/least_epsilon.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {
namespace {

constexpr double kMaxBins = 1e6;

/// The distribution of a sum: the probabilities of the points and of the tail beyond the last point, and the tail's mean excess.
struct BinsSum {
  std::vector<double> points = {};
  std::vector<double> chances = {};
  double beyond = 0;
  double excess = 0;
};

/// The probability that a standard normal variable is in [a, b], with small relative error in both tails.
double lognormal_between(double a, double b) {
  return a > 0 ? normal_below(-a) - normal_below(-b) : normal_below(b) - normal_below(a);
}

/// Points from 0 to `last`, `narrow` apart around the center. Further out, their spacing is about `ratio` times the distance
/// to the center and grows slightly faster.
std::vector<double> sum_grid(double center, double narrow, double ratio, double last) {
  const auto distance = [&](double step) {
    const double far = ratio * step;
    return narrow / ratio * std::expm1(far + far * far / 24);
  };
  std::vector<double> points;
  for (double step = 0; distance(step) < center; ++step) points.push_back(center - distance(step));
  points.push_back(0);
  std::ranges::reverse(points);
  for (double step = 1; center + distance(step) < last; ++step)
    if (center + distance(step) > points.back()) points.push_back(center + distance(step));
  points.push_back(last);
  return points;
}

/// Adds `chance` at `at`, split between points k and k + 1 so that the mean is preserved.
inline void put_between(BinsSum& sum, std::size_t k, double at, double chance) {
  const double low = sum.points[k];
  const double above = chance * ((at - low) / (sum.points[k + 1] - low));
  sum.chances[k] += chance - above;
  sum.chances[k + 1] += above;
}

BinsSum one_lognormal(double mu, double narrow, double ratio, double last) {
  BinsSum sum{.points = sum_grid(std::exp(-mu * mu / 2), narrow, ratio, last)};
  sum.chances.assign(sum.points.size(), 0.0);
  // ln W = mu Y - mu^2 / 2; E [W; a < Y < b] = P(a - mu < Y < b - mu).
  const auto at = [&](double point) { return point > 0 ? std::log(point) / mu + mu / 2 : -1e3; };
  for (std::size_t k = 0; k + 1 < sum.points.size(); ++k) {
    const double a = at(sum.points[k]), b = at(sum.points[k + 1]);
    const double chance = lognormal_between(a, b);
    if (chance <= 0) continue;
    put_between(sum, k, std::clamp(lognormal_between(a - mu, b - mu) / chance, sum.points[k], sum.points[k + 1]), chance);
  }
  sum.beyond = normal_below(-at(last));
  sum.excess = gaussian_delta(mu, std::log(last));
  return sum;
}

/// Quantiles at equal probability steps, only for choosing a grid.
std::vector<double> sum_quantiles(const BinsSum& sum, std::size_t count) {
  std::vector<double> found;
  double below = 0;
  for (std::size_t k = 0; k < sum.points.size() && found.size() < count; ++k) {
    below += sum.chances[k];
    while (found.size() < count && below >= (static_cast<double>(found.size()) + 0.5) / static_cast<double>(count))
      found.push_back(sum.points[k]);
  }
  found.resize(count, sum.points.back());
  return found;
}

/// Which points of the other sum are paired with a point: smaller ones, smaller or equal ones, or, for a sum with itself, smaller
/// ones twice and the point itself once.
enum class Pairs { smaller, smaller_or_equal, both };

/// Adds the pairs of a point of `larger` and a point of `smaller` that is not larger. Most of the smaller points are so small
/// that the pair stays in the larger point's cell. Only their total chance and mean then count, since a pair is split linearly
/// between the ends of its cell.
void add_pairs(BinsSum& sum, const std::vector<double>& inverse, const BinsSum& larger, const BinsSum& smaller, Pairs which) {
  const double last = sum.points.back();
  std::vector<double> chances{0}, means{0};  // cumulative; only positive terms, so nothing cancels
  for (std::size_t j = 0; j < smaller.points.size(); ++j) {
    chances.push_back(chances.back() + smaller.chances[j]);
    means.push_back(means.back() + smaller.chances[j] * smaller.points[j]);
  }
  const auto put = [&](std::size_t k, double at, double both) {
    const double above = both * ((at - sum.points[k]) * inverse[k]);
    sum.chances[k] += both - above;
    sum.chances[k + 1] += above;
  };
  std::size_t k = 0, end = 0;
  for (std::size_t i = 0; i < larger.points.size(); ++i) {
    if (i % 256 == 0) check_stop();
    const double from = larger.points[i];
    if (which == Pairs::smaller)
      while (end < smaller.points.size() && smaller.points[end] < from) ++end;
    else if (which == Pairs::smaller_or_equal)
      while (end < smaller.points.size() && smaller.points[end] <= from) ++end;
    else
      end = i;
    const double chance = (which == Pairs::both ? 2 : 1) * larger.chances[i];
    if (chance <= 0) continue;
    std::size_t j = 0;
    if (from < last) {
      while (sum.points[k + 1] <= from) ++k;
      const auto stays = [&](double point) { return from + point < sum.points[k + 1]; };
      const auto first = smaller.points.begin();
      j = static_cast<std::size_t>(std::partition_point(first, first + static_cast<std::ptrdiff_t>(end), stays) - first);
      const double above = chance * (((from - sum.points[k]) * chances[j] + means[j]) * inverse[k]);
      sum.chances[k] += chance * chances[j] - above;
      sum.chances[k + 1] += above;
    }
    const auto beyond = [&](double at, double both) {
      sum.beyond += both;
      sum.excess += both * (at - last);
    };
    std::size_t cell = k;
    for (; j < end; ++j) {
      const double at = from + smaller.points[j];
      if (at >= last) break;
      while (sum.points[cell + 1] <= at) ++cell;
      put(cell, at, chance * smaller.chances[j]);
    }
    for (; j < end; ++j) beyond(from + smaller.points[j], chance * smaller.chances[j]);
    if (which != Pairs::both) continue;
    const double at = from + from, both = larger.chances[i] * larger.chances[i];
    if (at >= last) {
      beyond(at, both);
      continue;
    }
    while (sum.points[cell + 1] <= at) ++cell;
    put(cell, at, both);
  }
}

BinsSum convolved_sums(const BinsSum& a, const BinsSum& b, double ratio) {
  constexpr std::size_t kQuantiles = 100;
  std::vector<double> sums;
  const std::vector<double> of_a = sum_quantiles(a, kQuantiles), of_b = sum_quantiles(b, kQuantiles);
  for (const double x : of_a)
    for (const double y : of_b) sums.push_back(x + y);
  std::ranges::sort(sums);
  const double last = a.points.back();
  const double middle = sums[sums.size() / 2];
  const double spread = std::max(sums[sums.size() * 3 / 4] - sums[sums.size() / 4], middle * 1e-6);
  BinsSum sum{.points = sum_grid(middle, spread * ratio, ratio, last)};
  sum.chances.assign(sum.points.size(), 0.0);
  std::vector<double> inverse;  // inverse cell widths
  for (std::size_t k = 0; k + 1 < sum.points.size(); ++k) inverse.push_back(1 / (sum.points[k + 1] - sum.points[k]));
  const bool twice = &a == &b;  // pairs (i, j) and (j, i) are added together
  add_pairs(sum, inverse, a, b, twice ? Pairs::both : Pairs::smaller_or_equal);
  if (!twice) add_pairs(sum, inverse, b, a, Pairs::smaller);
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    sum.beyond += a.chances[i] * b.beyond;
    sum.excess += a.chances[i] * (b.excess + b.beyond * a.points[i]);
  }
  double whole = b.beyond, mean = b.excess + b.beyond * last;
  for (std::size_t j = 0; j < b.points.size(); ++j) {
    whole += b.chances[j];
    mean += b.chances[j] * b.points[j];
  }
  sum.beyond += a.beyond * whole;
  sum.excess += a.excess * whole + a.beyond * mean;
  return sum;
}

/// Returns `delta` increased by more than the rounding errors of sums of positive products and of the conditional means.
double rounded_bins_delta(double delta) { return std::min(1.0, delta * (1 + 1e-9) + 1e-15); }

/// Under Q, dP/dQ is M = (W_1 + ... + W_b) / b, where the W_j are independent lognormals of mean 1. So delta is E (M - e^eps)_+
/// (remove) and E (1 - e^eps M)_+ (add). Both are expectations of convex functions of a sum and only grow if every partial sum is
/// replaced by a sum on grid points with the same conditional means. So each convolution step yields a proven upper bound, with
/// an error of second order in the grid spacing. The tail beyond the grid is represented by its probability and mean excess,
/// since both functions are linear there.
class BinsCurve final : public DrawCurve {
 public:
  BinsCurve(double noise_multiplier, std::uint64_t bins, std::uint64_t epochs, double coarseness);
  double delta_remove(double epsilon) const override;
  double delta_add(double epsilon) const override;
  double epsilon(double delta) const override;

 private:
  double mu_;  // sqrt(E) / z
  double bins_;
  BinsSum sum_;
};

BinsCurve::BinsCurve(double noise_multiplier, std::uint64_t bins, std::uint64_t epochs, double coarseness)
    : mu_(std::sqrt(static_cast<double>(epochs)) / noise_multiplier), bins_(static_cast<double>(bins)) {
  if (bins == 0 || bins_ > kMaxBins) throw usage_error("bins are " + std::to_string(bins) + "; valid: 1 to 1000000");
  if (epochs == 0) throw usage_error("epochs are 0; valid: 1 or more");
  if (!(noise_multiplier > 0) || !(mu_ <= kMostMu) || !(mu_ >= kLeastMu))
    throw usage_error("noise multiplier " + number_text(noise_multiplier) + " over " + std::to_string(epochs) +
                      " epochs with the same bins is equivalent to " + number_text(1 / mu_) +
                      " over one epoch; valid: 0.1 to 1e4");
  if (bins == 1) return;
  // Beyond this value, delta is below 1e-14 even without amplification (a Gaussian's delta is never smaller).
  const double last = bins_ * std::exp(gaussian_epsilon(mu_, 1e-14));
  const auto doublings = static_cast<double>(std::bit_width(bins)) + std::popcount(bins) - 2;
  const double ratio = coarseness * std::min(1.2e-3 * std::sqrt(doublings), 5e-3);
  const double spread = std::exp(-mu_ * mu_ / 2) * 2 * std::sinh(0.6745 * mu_);  // between the quartiles
  const BinsSum one = one_lognormal(mu_, spread * ratio, ratio, last);
  sum_ = one;
  for (int bit = static_cast<int>(std::bit_width(bins)) - 2; bit >= 0; --bit) {
    sum_ = convolved_sums(sum_, sum_, ratio);
    if ((bins >> bit & 1) != 0) sum_ = convolved_sums(sum_, one, ratio);
  }
}

double BinsCurve::delta_remove(double epsilon) const {
  check_epsilon(epsilon);
  const double gaussian = gaussian_delta(mu_, epsilon);  // also a bound, as if the bin were revealed
  if (bins_ == 1) return gaussian;
  const double threshold = bins_ * std::exp(epsilon);
  if (!(threshold <= sum_.points.back())) return gaussian;
  double total = sum_.excess + sum_.beyond * (sum_.points.back() - threshold);
  for (std::size_t k = sum_.points.size(); k-- > 0 && sum_.points[k] > threshold;)
    total += sum_.chances[k] * (sum_.points[k] - threshold);
  return std::min(gaussian, rounded_bins_delta(total / bins_));
}

double BinsCurve::delta_add(double epsilon) const {
  check_epsilon(epsilon);
  const double gaussian = gaussian_delta(mu_, epsilon);
  if (bins_ == 1) return gaussian;
  const double threshold = bins_ * std::exp(-epsilon);
  double total = 0;
  for (std::size_t k = 0; k < sum_.points.size() && sum_.points[k] < threshold; ++k)
    total += sum_.chances[k] * (threshold - sum_.points[k]);
  return std::min(gaussian, rounded_bins_delta(total / threshold));
}

double BinsCurve::epsilon(double delta) const {
  check_delta(delta);
  if (this->delta(0) <= delta) return 0;
  return least_epsilon(0, gaussian_epsilon(mu_, delta), 1e-10, [&](double epsilon) { return this->delta(epsilon) <= delta; });
}

std::string epochs_alike(std::uint64_t epochs) {
  return counted(epochs, "epoch") + " with the same bins cost as much as one with the noise divided by the root of that";
}

}  // namespace

LotSize BallsInBins::fitted(LotSize wanted, std::size_t /*records*/, std::uint64_t lots_per_step) const {
  const double steps = std::round(std::min(1 / wanted.rate / static_cast<double>(lots_per_step), kMaxBins));
  const double most = std::floor(kMaxBins / static_cast<double>(lots_per_step));
  return {1 / (std::clamp(steps, 1.0, most) * static_cast<double>(lots_per_step)), wanted.lot};
}

// Each record's bin is drawn independently, so adding a record moves no other. It is drawn at the address of round 0, which is
// not a training round, so it is the same in all rounds.
Lots BallsInBins::lots(const LotQuestion& question) const {
  std::vector<std::vector<std::uint32_t>> bins(lots_an_epoch(question.rate));
  for (const std::uint32_t record : question.records) {
    RandomStream random = question.source.at({.purpose = Purpose::private_sampling, .client = question.client, .row = record});
    bins[random.below(bins.size())].push_back(record);
  }
  return [first = question.first, bins = std::move(bins)](int /*epoch*/, std::uint32_t step, std::vector<std::uint32_t>& drawn) {
    drawn = bins[(first + step) % bins.size()];
  };
}

std::string BallsInBins::wrong_rate(double rate) const {
  const double bins = std::round(1 / rate);
  if (bins <= kMaxBins && std::abs(rate * bins - 1) <= 1e-9) return {};
  return "it must be 1 divided by a whole number of bins, 1 to 1000000";
}

// Bins take turns over all epochs, so any `count` consecutive lots contain a bin at most this often.
std::uint64_t BallsInBins::passes(std::uint64_t count, int /*epochs*/, double rate) const { return epochs_of(count, rate); }

std::unique_ptr<const DrawCurve> BallsInBins::curve(double noise_multiplier, std::uint64_t lots, std::uint64_t passes,
                                                    double coarseness) const {
  return std::make_unique<BinsCurve>(noise_multiplier, lots, passes, coarseness);
}

std::string BallsInBins::text(double rate) const { return counted(lots_an_epoch(rate), "bin"); }

std::string BallsInBins::assumption(std::string_view record, std::uint64_t passes) const {
  return std::string(record) +
         " was put into one lot of an epoch by a draw of its own, uniformly, and is in the same lot in every epoch; the draws "
         "are "
         "secret (balls-in-bins sampling); " +
         epochs_alike(passes);
}

std::string BallsInBins::cohort_assumption(std::uint64_t passes) const {
  return "each client was put into one round of a cycle by a draw of its own, uniformly, and is in the same round of every cycle "
         "(balls-in-bins cohorts); this amplifies only if nobody sees who is in a cohort; " +
         epochs_alike(passes);
}

}  // namespace fedstride
