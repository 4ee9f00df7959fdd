#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/gradient.hpp"
#include "core/random.hpp"
#include "core/task.hpp"
#include "core/vector.hpp"
#include "dp/noise/grid_noise.hpp"

namespace fedstride {

/// The examples of one lot. Their gradients are computed part by part, so a lot may be larger than the network's batch. An empty
/// lot has no parts.
///   next()                      computes the next part; false if there is none
///   norms()                     L2 norm of each example's gradient in that part, never below the true norm
///   weighted_sum(factors, sink) passes sum_i factors[i] x gradient i to the sink, where gradient i is computed from example i alone
///                               and the sum in double
template <class T>
concept LotOfExamples = requires(T lot, std::span<const float> factors, SumSink sink) {
  { lot.next() } -> std::same_as<bool>;
  { lot.norms() } -> std::convertible_to<std::span<const double>>;
  {lot.weighted_sum(factors, sink)};
};

class BoundPart;

/// The parameters of one release.
struct ReleaseRules {
  double clip = 1;              ///< largest L2 norm of an example's contribution
  double noise_multiplier = 1;  ///< noise standard deviation on the sum / clip
  double denominator = 1;       ///< public constant that divides the noisy sum, never the number of examples drawn
  double most_examples = 1;     ///< public bound on the number of examples drawn
  RandomSource source;          ///< of the noise
  Address address;              ///< its purpose is noise; no two releases may have the same round, client and step
  /// If above 0, the sum is released with a count (1/2 for each example whose norm is at most `clip`, -1/2 for every other
  /// example) with noise of this deviation. The noise on the sum is then larger, so that both together cost as much as the noise
  /// multiplier alone.
  double count_noise = 0;
  const BoundPart* bound = nullptr;  ///< the rule for `clip`; null: longer gradients are scaled down to it

  /// The grid of the noisy sum, if it has this many numbers. Its noise is above noise_multiplier x clip by what is charged for
  /// rounding (noise_grid, accumulation_error) and for the count.
  NoiseGrid grid(std::size_t numbers) const;
};

/// Counts of a lot's examples; no privacy guarantee covers them.
struct LotReport {
  std::uint64_t examples = 0;
  std::uint64_t clipped = 0;    ///< examples whose gradient was longer than the bound
  std::uint64_t nonfinite = 0;  ///< examples that contribute nothing because their gradient is not finite
  double norms = 0;             ///< sum of the finite gradients' norms before clipping
  double within = 0;            ///< released, unlike the other numbers: the sum of noisy counts (ReleaseRules::count_noise)
};

/// A stretch of the flat parameter vector; the gradient of frozen parameters is passed on as zeros, without noise.
struct GradientStretch {
  std::size_t offset = 0;
  std::size_t size = 0;
  bool frozen = false;
};

/// Counts the releases of one client in one round. Every release is charged here before its noise is drawn; releases beyond the
/// client's reservation are refused.
class Meter {
 public:
  explicit Meter(std::uint64_t reserved) : left_(reserved) {}

  /// Throws Error (failure) if nothing is left, or if a release at this step of the round was already charged: the same noise on
  /// two sums would reveal their difference.
  void charge(std::uint32_t step, double noise_multiplier, double clip) {
    if (left_ == 0)
      throw failure("step " + std::to_string(step) +
                    " of the round was refused: all releases that the ledger reserved have been used");
    if (step < next_step_)
      throw failure("step " + std::to_string(step) + " of the round was already released; its noise must not be used twice");
    next_step_ = step + 1;
    --left_;
    if (runs_.empty() || runs_.back().noise_multiplier != noise_multiplier || runs_.back().clip != clip)
      runs_.push_back({noise_multiplier, clip, 0});
    ++runs_.back().count;
  }

  std::uint64_t left() const { return left_; }
  /// The charged releases, in order.
  const std::vector<ReleaseRun>& runs() const { return runs_; }

 private:
  std::uint64_t left_;
  std::uint32_t next_step_ = 0;
  std::vector<ReleaseRun> runs_;
};

/// The only place where example gradients turn into a value that leaves a client: clip, sum, noise, charge.
///   g = ( sum_i min(1, C / |g_i|) g_i + N(0, (C z)^2 I) ) / denominator          (Abadi et al. 2016, Algorithm 1)
/// with noise multiplier z and a constant denominator; sum and noise are whole numbers of grid steps (dp/noise/grid_noise.hpp). A
/// bound's rule may set another factor, at most C / |g_i| (BoundPart::safe_factor), and a count may be released too
/// (ReleaseRules::count_noise). Used by one thread at a time; holds one vector in memory.
class ClippedSum {
 public:
  /// The stretches in which the gradient is passed to the sink, each at most kMaxStretch floats long; they depend only on the
  /// model.
  explicit ClippedSum(std::vector<GradientStretch> stretches);
  /// The number of numbers that a release has, without those of frozen parameters.
  std::size_t numbers() const { return numbers_; }
  static constexpr std::size_t kMaxStretch = 2048;

  /// Makes one release: charges it to the meter first, then computes it and passes it to the sink; returns the sum of the sink's
  /// values, in the order of the stretches.
  template <LotOfExamples Lot>
  double release(Lot& lot, const ReleaseRules& rules, Meter& meter, GradientSink sink, ForEachPiece for_each_piece,
                 LotReport& report) {
    meter.charge(rules.address.step, rules.noise_multiplier, rules.clip);
    const LotReport before = report;
    bool empty = true;
    while (lot.next()) {
      set_factors(lot.norms(), rules, report);
      if (empty)
        lot.weighted_sum(factors_, [&](std::size_t offset, std::span<const double> part) { return copy(offset, part); });
      else
        lot.weighted_sum(factors_, [&](std::size_t offset, std::span<const double> part) { return add(offset, part); });
      empty = false;
    }
    if (empty) std::ranges::fill(sum_, 0.0);
    if (rules.count_noise > 0) report.within += noisy_count(rules, before, report);
    return add_noise_and_report(rules, sink, for_each_piece);
  }

 private:
  /// The factor of each example, rounded down unless it is 1; 0 for an example whose norm is not finite.
  void set_factors(std::span<const double> norms, const ReleaseRules& rules, LotReport& report);
  /// The noisy count of the examples added to a report between `before` and `after`.
  static double noisy_count(const ReleaseRules& rules, const LotReport& before, const LotReport& after);
  double copy(std::size_t offset, std::span<const double> part);
  double add(std::size_t offset, std::span<const double> part);
  double add_noise_and_report(const ReleaseRules& rules, GradientSink sink, ForEachPiece for_each_piece);

  std::vector<GradientStretch> stretches_;
  std::vector<float> factors_;
  std::vector<double> returned_;
  std::size_t numbers_ = 0;
  std::vector<double, AlignedAllocator<double>> sum_;
};

/// Appends the stretches of a parameter that has `size` floats and begins at `offset`.
void append_stretches(std::vector<GradientStretch>& stretches, std::size_t offset, std::size_t size, bool frozen);

}  // namespace fedstride
