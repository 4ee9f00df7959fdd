#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/gradient.hpp"
#include "core/random.hpp"
#include "core/vector.hpp"
#include "data/dataset.hpp"
#include "dp/accountants/score_fit.hpp"
#include "dp/noise/noise_plan.hpp"
#include "nn/model.hpp"
#include "nn/network.hpp"

namespace fedstride {

/// Artificial records (or clients) that measure a run's privacy. Each contributes a random direction and is included or not by a
/// fair coin flip. The contributions pass through the run's own sampler, clip, sum and noise. Each noisy release, minus the
/// other records' contribution, which the guarantee's adversary knows, is scored along every canary's direction. Directions share
/// no coordinates, so scores are independent. Half of the canaries have coordinates in all layers, each of the others in a single
/// layer, so every layer has its own canaries. Use from one thread at a time, except hear() and know() on different coordinates.
class Canaries {
 public:
  static constexpr std::size_t kMostSpread = 64;  ///< coordinates per canary

  /// Makes at most `count` canaries, fewer if the layers that are not `unsent` have too few parameters. `kind` distinguishes sets
  /// of canaries drawn from one source. With `alternates`, every other canary's length is 0.999 times the
  /// clip bound, instead of 10 times, so that an adaptive bound does not follow the canaries.
  Canaries(const Model& model, const std::vector<bool>& unsent, std::size_t count, const RandomSource& source, std::uint32_t kind,
           bool alternates = false);

  std::size_t count() const { return in_.size(); }
  bool in(std::size_t canary) const { return in_[canary]; }
  /// The indices of the included canaries.
  const std::vector<std::uint32_t>& present() const { return present_; }

  /// Sets the factor of the noise's covariance over the releases (noise_factor): scores are then made independent.
  void correlate(std::vector<std::vector<double>> factor) { factor_ = std::move(factor); }
  /// Excluded canaries contribute the opposite of their direction, as one record that replaces another.
  void oppose_excluded() { excluded_ = -1; }

  // --- one release, example level ---
  /// The client's rows, followed by the included canaries' rows.
  std::vector<Row> beside(std::span<const Row> rows) const;
  /// Begins a release: moves the canaries out of the lot's rows.
  void begin(std::vector<Row>& drawn, const NoiseStep& noise);
  bool in_lot() const { return !drawn_.empty(); }
  std::span<const double> norms() const { return norms_; }
  void weighted_sum(std::span<const float> factors, SumSink sink);
  /// Receives the other records' contribution to a stretch of the sum.
  void know(std::size_t offset, std::span<const double> part);
  /// Occasionally measures one row's contribution to the sum (largest_contribution()).
  void probe(Network& network, std::span<const float> factors, ForEachPiece for_each_piece);
  /// Receives a stretch of the release, already divided by the denominator that score() receives.
  void hear(std::size_t offset, std::span<const float> values);
  void score(double denominator);

  // --- one release, client level ---
  /// Writes a canary's update under this bound into `update`, at the canary's coordinates.
  void write(std::uint32_t canary, double bound, Vector& update) const;
  /// Copies a canary's coordinates from one vector to another.
  void copy(std::uint32_t canary, std::span<const float> from, std::span<float> to) const;
  /// Scores a release that contains the canaries `drawn`, with contributions of this norm and noise of this standard deviation.
  void score(std::span<const float> released, std::span<const float> known, double denominator,
             std::span<const std::uint32_t> drawn, double contribution, double deviation);

  // --- results ---
  std::uint64_t releases() const { return releases_; }
  /// The included (or excluded) canaries' scores, summed over all releases.
  std::vector<double> totals(bool in) const;
  /// Scores another vector along the direction of each included (or excluded) canary.
  std::vector<double> scores(std::span<const float> vector, bool in) const;
  /// The fit of each group: first the canaries in all layers, then those in each single layer.
  const std::vector<ScoreFit>& fits() const { return fits_; }
  /// How many releases contained each canary.
  const std::vector<std::uint64_t>& hits() const { return hits_; }
  /// The largest contribution of a probed row, in units of the clip bound; 0 if no row was probed.
  double largest_contribution() const { return largest_; }

 private:
  static constexpr Row kFirst = 0xF000'0000;
  /// The range of positions in coordinates_ whose coordinates lie in this stretch.
  std::pair<std::size_t, std::size_t> within(std::size_t offset, std::size_t size) const;
  void score(std::span<const std::uint32_t> drawn, double contribution, double deviation);

  std::vector<std::uint32_t> coordinates_;  ///< of all canaries, ascending
  std::vector<std::uint32_t> owner_;        ///< the canary that owns each coordinate
  std::vector<float> direction_;            ///< that canary's value at each coordinate
  std::vector<std::uint32_t> group_;
  std::vector<bool> in_;
  std::vector<std::uint32_t> present_;
  std::size_t extent_ = 0;  ///< end of the last parameter

  /// Norm of the canary's contribution before clipping, in units of the clip bound.
  double length_of(std::uint32_t canary) const { return alternates_ && canary % 2 == 0 ? 0.999 : 10; }

  bool alternates_ = false;
  std::vector<std::uint32_t> drawn_;
  std::vector<double> norms_;
  NoiseStep noise_;
  std::vector<double> known_;  ///< at coordinates_
  std::vector<float> heard_;
  std::vector<double> own_;  ///< all 0 between uses

  double excluded_ = 0;  ///< what an excluded canary contributes, in contributions of an included one
  std::vector<std::vector<double>> factor_;
  std::vector<std::vector<double>> scores_, contents_;  ///< of each release, made independent; the contents end with a full one

  std::uint64_t releases_ = 0;
  std::vector<double> totals_;
  std::vector<ScoreFit> fits_;
  std::vector<std::uint64_t> hits_;
  double largest_ = 0;
};

}  // namespace fedstride
