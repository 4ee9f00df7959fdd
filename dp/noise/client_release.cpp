#include "dp/noise/client_release.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <string>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/noise/discrete_gaussian.hpp"

namespace fedstride {
namespace {

constexpr double kMaxDeviation = 0x1p22;
/// The rounding unit of double; a sum of d squares has a relative error of less than d of these.
constexpr double kUnit = 0x1p-53;

double sum_of_squares(std::span<const float> values) {
  std::array<double, 16> sums{};
  const std::size_t whole = values.size() / sums.size() * sums.size();
  for (std::size_t i = 0; i < whole; i += sums.size())
    for (std::size_t j = 0; j < sums.size(); ++j) {
      const auto value = static_cast<double>(values[i + j]);
      sums[j] += value * value;  // the square is exact
    }
  for (std::size_t i = whole; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    sums[i % sums.size()] += value * value;
  }
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

/// Copies `from`, scaled by the rule so that its norm is at most `bound` after every component is rounded to a multiple of 2^-40;
/// returns the sum of squares before scaling.
double clip_range(std::span<const float> from, double bound, const BoundPart& rule, std::span<float> to) {
  const auto size = static_cast<double>(from.size());
  const double squares = sum_of_squares(from);
  // Rounding moves the vector by at most sqrt(d) 2^-41.
  const double room = bound * (1 - 8 * kUnit) - std::sqrt(size) * 0x1p-41 * (1 + 8 * kUnit);
  const double norm = std::sqrt(squares) * (1 + (size + 8) * kUnit);  // not below the true norm
  const double wanted = norm == 0 ? 1 : room > 0 ? rule.safe_factor(norm, room) : 0;
  if (wanted == 1) {
    std::ranges::copy(from, to.begin());
  } else if (wanted > 0) {
    // Rounding the product to float changes it by a factor of at most 1 + 2^-24 (or, if tiny, by far less than 2^-41).
    const double factor = wanted / (1 + 0x1p-23);
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(static_cast<double>(from[i]) * factor);
  } else {
    std::ranges::fill(to, 0.0F);
  }
  return squares;
}

}  // namespace

double l2_norm(std::span<const float> values) { return std::sqrt(sum_of_squares(values)); }

UpdateClip::UpdateClip(double bound, std::vector<ParameterRange> layers, Bound rule)
    : bound_(bound), rule_(std::move(rule)), layers_(std::move(layers)) {
  if (!(bound > 0) || !std::isfinite(bound))
    throw usage_error("the clip bound of client updates is " + number_text(bound) + "; it must be positive and finite");
  std::ranges::sort(layers_, {}, &ParameterRange::offset);
  for (std::size_t i = 1; i < layers_.size(); ++i)
    if (layers_[i].offset - layers_[i - 1].offset < layers_[i - 1].size)
      throw failure("two layers to clip overlap at parameter " + std::to_string(layers_[i].offset));
}

double UpdateClip::clip(std::span<const float> change, Vector& out) const {
  assert(ExactSum::admits(change));
  if (layers_.empty()) {
    out.resize(change.size());
    return std::sqrt(clip_range(change, bound_, *rule_, view(out)));
  }
  out.assign(change.size(), 0);
  const double share = bound_ / std::sqrt(static_cast<double>(layers_.size())) * (1 - 8 * kUnit);
  for (const auto& [offset, size] : layers_)
    clip_range(change.subspan(offset, size), share, *rule_, view(out).subspan(offset, size));
  return std::sqrt(sum_of_squares(change));
}

void keep_only(std::span<const ParameterRange> ranges, Vector& vector) {
  std::size_t done = 0;
  const auto clear_to = [&](std::size_t end) {
    if (end > done) std::fill(vector.data() + done, vector.data() + end, 0.0F);
  };
  for (const auto& [offset, size] : ranges) {
    clear_to(offset);
    done = offset + size;
  }
  clear_to(vector.size());
}

void check_deviation(double deviation) {
  if (!(deviation > 0) || deviation > kMaxDeviation)
    throw usage_error("the standard deviation of noise on client updates is " + number_text(deviation) +
                      "; it must be above 0 and at most 2^22, 4194304");
}

void for_each_row_of(std::size_t size, ForEachPiece for_each_piece, function_ref<void(std::size_t, std::size_t)> body) {
  const std::size_t rows = (size + kComponentsPerRow - 1) / kComponentsPerRow;
  for_each_piece(static_cast<int>((rows + kRowsPerPiece - 1) / kRowsPerPiece), [&](int piece) {
    const std::size_t begin = static_cast<std::size_t>(piece) * kRowsPerPiece;
    for (std::size_t row = begin; row < std::min(begin + kRowsPerPiece, rows); ++row) {
      const std::size_t first = row * kComponentsPerRow;
      body(first, std::min(kComponentsPerRow, size - first));
    }
  });
}

void add_noise(ExactSum& sum, const ClientNoise& noise, const RandomSource& source, const Address& address,
               ForEachPiece for_each_piece) {
  check_deviation(noise.grid.deviation);
  const NoiseGrid in_units = {noise.grid.deviation * ExactSum::kScale, noise.grid.bits};
  const DiscreteGaussian discrete(static_cast<std::uint64_t>(std::ceil(noise.grid.deviation * ExactSum::kScale)));
  const std::span<__int128> integers = sum.integers();
  for_each_row_of(sum.size(), for_each_piece, [&](std::size_t first, std::size_t size) {
    const std::span<__int128> row = integers.subspan(first, size);
    if (noise.discrete) {
      Address here = address;
      here.row += static_cast<std::uint32_t>(first / kComponentsPerRow);
      RandomStream random = source.at(here);
      for (__int128& integer : row) integer += discrete(random);
      return;
    }
    std::array<double, kComponentsPerRow> values;
    for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<double>(row[i]);
    const auto released = std::span(values).first(size);
    release_on_grid(in_units, source, address, first, released, 1, released);
    for (std::size_t i = 0; i < size; ++i) row[i] = static_cast<__int128>(std::nearbyint(released[i]));
  });
}

void ReleasedBeside::set_bit(double noise_multiplier, double deviation) {
  bit_share = 0;
  const double most = noise_beside_count(noise_multiplier, deviation) / noise_multiplier;  // sqrt(1 + b^2 / 4), without x and w
  bit_share = noise_multiplier * growth() * most / deviation;
}

double ReleasedBeside::growth() const {
  const double scaled = static_cast<double>(square) + static_cast<double>(statistic);
  return std::sqrt(1 + scaled * kShare * kShare / 4 + bit_share * bit_share / 4) * (1 + 0x1p-20);
}

void ReleasedBeside::append(Vector& clipped, double bound, double ratio, bool within) const {
  const std::size_t size = clipped.size();
  const double norm = l2_norm(view(std::as_const(clipped)));
  clipped.resize(size + count());
  std::size_t next = size;
  const auto put = [&](double share) {
    clipped[next++] = static_cast<float>(kShare * bound * (std::clamp(share, 0.0, 1.0) - 0.5));
  };
  if (square) put(norm / bound * (norm / bound));
  if (statistic) put(std::isnan(ratio) ? 0.5 : ratio / 2);
  if (bit_share > 0) clipped[next++] = static_cast<float>(bit_share * bound * (within ? 0.5 : -0.5));
}

ReleasedBeside::Means ReleasedBeside::take_off(Vector& mean, double bound) const {
  Means means;
  std::size_t next = mean.size() - count();
  const auto get = [&] { return std::max(0.0, static_cast<double>(mean[next++]) / (kShare * bound) + 0.5); };
  if (square) means.square = std::min(get(), 1.0);
  if (statistic) means.statistic = get();
  if (bit_share > 0) means.bit = static_cast<double>(mean[next++]) / (bit_share * bound);
  mean.resize(mean.size() - count());
  return means;
}

double CentralRelease::most_bound() const { return clip.bound() * kMaxDeviation / noise.grid.deviation; }

}  // namespace fedstride
