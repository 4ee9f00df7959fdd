#include "dp/noise/clipped_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "dp/bounds/fixed.hpp"

namespace fedstride {
namespace {

// Stretches per piece of work.
constexpr std::size_t kStretchesPerPiece = 16;
// The largest factor on an example; a larger factor might not fit a float.
constexpr double kMostFactor = 1e30;

}  // namespace

void append_stretches(std::vector<GradientStretch>& stretches, std::size_t offset, std::size_t size, bool frozen) {
  for (std::size_t first = 0; first < size; first += ClippedSum::kMaxStretch)
    stretches.push_back({offset + first, std::min(ClippedSum::kMaxStretch, size - first), frozen});
}

ClippedSum::ClippedSum(std::vector<GradientStretch> stretches) : stretches_(std::move(stretches)), returned_(stretches_.size()) {
  std::size_t end = 0;
  for (const auto& stretch : stretches_) {
    end = std::max(end, stretch.offset + stretch.size);
    if (!stretch.frozen) numbers_ += stretch.size;
  }
  sum_.assign(end, 0);
}

void ClippedSum::set_factors(std::span<const double> norms, const ReleaseRules& rules, LotReport& report) {
  static const FixedBound fixed;
  const BoundPart& bound = rules.bound != nullptr ? *rules.bound : fixed;
  factors_.resize(norms.size());
  for (std::size_t i = 0; i < norms.size(); ++i) {
    ++report.examples;
    if (!std::isfinite(norms[i])) {
      ++report.nonfinite;
      factors_[i] = 0;
      continue;
    }
    report.norms += norms[i];
    if (norms[i] > rules.clip) ++report.clipped;
    const double factor = bound.safe_factor(norms[i], rules.clip);
    factors_[i] = factor == 1 ? 1 : std::max(0.0F, std::nextafter(static_cast<float>(std::min(factor, kMostFactor)), 0.0F));
  }
}

NoiseGrid ReleaseRules::grid(std::size_t numbers) const {
  const double multiplier = count_noise > 0 ? noise_beside_count(noise_multiplier, count_noise) : noise_multiplier;
  return noise_grid(clip * (1 + accumulation_error(most_examples)), multiplier, static_cast<double>(numbers));
}

double ClippedSum::noisy_count(const ReleaseRules& rules, const LotReport& before, const LotReport& after) {
  const auto counted = static_cast<double>((after.examples - after.nonfinite) - (before.examples - before.nonfinite));
  const auto beyond = static_cast<double>(after.clipped - before.clipped);
  Address address = rules.address;
  address.purpose = Purpose::clip_count;
  const double count = counted / 2 - beyond;
  double released = 0;
  // A contribution moves the count by 1/2.
  release_on_grid(noise_grid(0.5, 2 * rules.count_noise, 1), rules.source, address, 0, {&count, 1}, 1, std::span(&released, 1));
  return released;
}

double ClippedSum::copy(std::size_t offset, std::span<const double> part) {
  std::ranges::copy(part, sum_.data() + offset);
  return 0;
}

double ClippedSum::add(std::size_t offset, std::span<const double> part) {
  double* __restrict to = sum_.data() + offset;
  const double* __restrict from = part.data();
  for (std::size_t i = 0; i < part.size(); ++i) to[i] += from[i];
  return 0;
}

double ClippedSum::add_noise_and_report(const ReleaseRules& rules, GradientSink sink, ForEachPiece for_each_piece) {
  const NoiseGrid grid = rules.grid(numbers_);
  const std::size_t pieces = (stretches_.size() + kStretchesPerPiece - 1) / kStretchesPerPiece;
  for_each_piece(static_cast<int>(pieces), [&](int piece) {
    alignas(64) std::array<float, kMaxStretch> gradient;
    const std::size_t first = static_cast<std::size_t>(piece) * kStretchesPerPiece;
    for (std::size_t s = first; s < std::min(first + kStretchesPerPiece, stretches_.size()); ++s) {
      const auto& [offset, size, frozen] = stretches_[s];
      const std::span<float> values(gradient.data(), size);
      if (frozen) {
        std::ranges::fill(values, 0.0F);
      } else {
        release_on_grid(grid, rules.source, rules.address, offset, std::span<const double>(sum_).subspan(offset, size),
                        1 / rules.denominator, values);
      }
      returned_[s] = sink(offset, values);
    }
  });
  double total = 0;
  for (const double value : returned_) total += value;
  return total;
}

}  // namespace fedstride
