#include "client/private_plan.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/accountants/spending.hpp"

namespace fedstride {
namespace {

// Tolerance for rounding errors where 1 / rate should be a whole number.
constexpr double kSlack = 1e-9;

std::uint64_t whole_below(double value) { return static_cast<std::uint64_t>(std::floor(value * (1 + kSlack))); }
std::uint64_t whole_above(double value) { return static_cast<std::uint64_t>(std::ceil(value * (1 - kSlack))); }

}  // namespace

PrivatePlan::PrivatePlan(const PrivateRules& rules, const Optimizer& optimizer, const LotSizes& sizes)
    : sampling_(rules.sampling),
      neighbours_(rules.neighbours),
      steps_(static_cast<std::uint64_t>(rules.steps)),
      unit_(rules.unit),
      bound_(rules.unit == LotUnit::some_examples ? rules.bound : 1),
      clip_rule_(rules.clip_rule) {
  const std::size_t rows = sizes.rows;
  epoch_of_change_ = optimizer->epoch_of_change();
  first_lots_per_step_ = optimizer->gradients_per_step(Progress{0});
  later_lots_per_step_ =
      epoch_of_change_ == kNoChange ? first_lots_per_step_ : optimizer->gradients_per_step(Progress{epoch_of_change_});
  const auto size = static_cast<double>(rows);
  rate_ = std::min(1.0, rules.sampling_rate > 0 ? rules.sampling_rate : rules.batch / size);
  const auto lot = std::clamp<std::size_t>(static_cast<std::size_t>(std::llround(rate_ * size)), 1, rows);
  const auto lots_per_step = static_cast<std::uint64_t>(std::max(first_lots_per_step_, later_lots_per_step_));
  const LotSize fitted = draw_of(sampling_).fitted({rate_, lot}, rows, lots_per_step);
  rate_ = fitted.rate;
  lot_ = fitted.lot;
  if (rate_ == 1) sampling_ = Sampling::full;
  denominator_ = rate_ * static_cast<double>(sizes.units);
  NoisePlanRules noise = rules.noise;
  noise.target = std::max<std::uint64_t>(1, releases_before(rules.target_epochs));
  noise_ = NoisePlan(noise);
}

// The number of steps in the first `epoch` epochs if every step read `lots_per_step` lots.
std::uint64_t PrivatePlan::steps_before(int epoch, int lots_per_step) const {
  const auto epochs = static_cast<std::uint64_t>(epoch);
  if (steps_ > 0) return epochs * steps_;
  const double lots = 1 / rate_;
  if (has_passes(sampling_)) return epochs * (whole_below(lots) / static_cast<std::uint64_t>(lots_per_step));
  if (lots_per_step == 1) return whole_above(static_cast<double>(epoch) * lots);
  return epochs * std::max<std::uint64_t>(1, whole_below(lots / lots_per_step));
}

std::uint64_t PrivatePlan::steps(int epoch) const {
  const int lots = lots_per_step(epoch);
  return steps_before(epoch + 1, lots) - steps_before(epoch, lots);
}

std::uint64_t PrivatePlan::releases_before(int epoch) const {
  const int change = std::min(epoch, epoch_of_change_);
  return steps_before(change, first_lots_per_step_) * static_cast<std::uint64_t>(first_lots_per_step_) +
         (steps_before(epoch, later_lots_per_step_) - steps_before(change, later_lots_per_step_)) *
             static_cast<std::uint64_t>(later_lots_per_step_);
}

double PrivatePlan::count_noise() const { return clip_rule_->count_noise(noise_.rules().noise_multiplier, denominator_); }

double PrivatePlan::round_clip(std::span<const double> told) const {
  if (!counts()) return 0;
  if (told.empty() || !(told[0] >= kLeastClip && told[0] <= kMostClip))
    throw failure("the server sent " + counted(told.size(), "number") +
                  (told.empty() ? "" : ", the first of them " + number_text(told[0])) + "; with clip-rule '" +
                  std::string(clip_rule_.name()) + "', it must begin with the round's bound, from " + number_text(kLeastClip) +
                  " to " + number_text(kMostClip));
  return told[0];
}

std::vector<ReleaseRun> PrivatePlan::runs(std::uint64_t first, std::uint64_t count, double clip) const {
  std::vector<ReleaseRun> runs = noise_.runs(first, count);
  if (counts() && clip > 0)
    for (ReleaseRun& run : runs) run.clip = clip;
  return runs;
}

std::uint64_t PrivatePlan::passes(std::uint64_t count, int epochs) const {
  return draw_of(sampling_).passes(count, epochs, rate_);
}

Spending PrivatePlan::spending(std::uint64_t first, std::uint64_t count, int epochs) const {
  return noise_.spending(
      first, count,
      {.sampling = sampling_, .neighbours = neighbours_, .rate = rate_, .passes = passes(count, epochs), .rows = bound_});
}

}  // namespace fedstride
