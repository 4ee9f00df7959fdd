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

/// Records (or clients) made for measuring a run's privacy. Their contributions are random directions, each in or out by a fair
/// coin. They go through the run's own sampler, clip, sum and noise, and each noisy release is scored in the direction of every
/// canary, minus the contribution of other records, which the guarantee's adversary knows. Directions share no coordinate, so
/// scores are independent: half of the canaries have coordinates in all layers, the others in one layer, so that each layer has
/// its own. Used by one thread at a time, except for hear() and know() of different coordinates.
class Canaries {
 public:
  static constexpr std::size_t kMostSpread = 64;  ///< coordinates per canary

  /// At most `count` canaries, limited by the room in the model's `trained` parameters. `kind` distinguishes those of one source.
  /// With `alternates`, every other canary is slightly shorter than the bound, so that an adaptive bound does not follow the
  /// canaries.
  Canaries(const Model& model, const std::vector<bool>& unsent, std::size_t count, const RandomSource& source, std::uint32_t kind,
           bool alternates = false);

  std::size_t count() const { return in_.size(); }
  bool in(std::size_t canary) const { return in_[canary]; }
  /// The numbers of the included canaries.
  const std::vector<std::uint32_t>& present() const { return present_; }

  // --- one release, example level ---
  /// The client's rows and those of the included canaries.
  std::vector<Row> beside(std::span<const Row> rows) const;
  /// Removes the canaries from the rows of a lot.
  void begin(std::vector<Row>& drawn, const NoiseStep& noise);
  bool in_lot() const { return !drawn_.empty(); }
  std::span<const double> norms() const { return norms_; }
  void weighted_sum(std::span<const float> factors, GradientSink sink);
  /// Receives the contribution of other records to the sum.
  void know(std::size_t offset, std::span<const float> part);
  /// Occasionally measures the contribution of one row to the sum (largest_contribution()).
  void probe(Network& network, std::span<const float> factors, ForEachPiece for_each_piece);
  /// Receives the release, divided by the denominator passed to score().
  void hear(std::size_t offset, std::span<const float> values);
  void score(double denominator);

  // --- one release, client level ---
  /// A canary's update under this bound, in a vector of its size.
  void write(std::uint32_t canary, double bound, Vector& update) const;
  /// Scores a release of the canaries `drawn`, with contributions of this norm and noise of this standard deviation.
  void score(std::span<const float> released, std::span<const float> known, double denominator,
             std::span<const std::uint32_t> drawn, double contribution, double deviation);

  // --- results ---
  std::uint64_t releases() const { return releases_; }
  /// The sums of the included (or excluded) canaries over all releases.
  std::vector<double> totals(bool in) const;
  /// The canaries' scores in another vector.
  std::vector<double> scores(std::span<const float> vector, bool in) const;
  /// The fit of each group: first canaries in all layers, then those in one.
  const std::vector<ScoreFit>& fits() const { return fits_; }
  /// How often each included canary was in a release.
  const std::vector<std::uint64_t>& hits() const { return hits_; }
  /// The largest contribution of a probed row, in clip bounds; 0: none was probed.
  double largest_contribution() const { return largest_; }

 private:
  static constexpr Row kFirst = 0xF000'0000;
  /// The positions in coordinates_ of the coordinates in a stretch.
  std::pair<std::size_t, std::size_t> within(std::size_t offset, std::size_t size) const;
  void score(std::span<const std::uint32_t> drawn, double contribution, double deviation);

  std::vector<std::uint32_t> coordinates_;  ///< of all canaries, in order
  std::vector<std::uint32_t> owner_;        ///< of each of them
  std::vector<float> direction_;            ///< its value there
  std::vector<std::uint32_t> group_;
  std::vector<bool> in_;
  std::vector<std::uint32_t> present_;
  std::size_t extent_ = 0;  ///< end of the last parameter

  /// Norm of the canary's contribution before clipping, in clip bounds.
  double length_of(std::uint32_t canary) const { return alternates_ && canary % 2 == 0 ? 0.999 : 10; }

  bool alternates_ = false;
  std::vector<std::uint32_t> drawn_;
  std::vector<double> norms_;
  NoiseStep noise_;
  std::vector<float> known_, heard_;  ///< at coordinates_
  Vector own_;                        ///< all 0 between uses

  std::uint64_t releases_ = 0;
  std::vector<double> totals_;
  std::vector<ScoreFit> fits_;
  std::vector<std::uint64_t> hits_;
  double largest_ = 0;
};

}  // namespace fedstride
