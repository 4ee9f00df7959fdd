#include "dp/noise/correlated_noise.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cereal/types/vector.hpp>
#include <cmath>
#include <limits>
#include <span>

#include "core/error.hpp"
#include "core/part_state.hpp"
#include "core/text.hpp"
#include "dp/accountants/correlation.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {
namespace {

using Units = std::array<double, kComponentsPerRow>;
using Kept = std::vector<std::vector<double>>;

/// Numbers first to first + size - 1 of all vectors: `noise` has z_t, and then w_t. `t` counts from 0.
void banded_row(const Correlation& correlation, Kept& kept, std::uint64_t t, std::size_t first, std::span<double> noise) {
  const auto& c = correlation.coefficients;
  for (std::size_t j = 1; j <= std::min<std::uint64_t>(t, kept.size()); ++j) {
    const double* const earlier = kept[(t - j) % kept.size()].data() + first;
    for (std::size_t i = 0; i < noise.size(); ++i) noise[i] -= c[j] * earlier[i];
  }
  if (!kept.empty()) std::ranges::copy(noise, kept[t % kept.size()].begin() + static_cast<std::ptrdiff_t>(first));
}

void buffered_row(const Correlation& correlation, Kept& kept, std::size_t first, std::span<double> noise) {
  const double* const scale = correlation.coefficients.data();
  const double* const decay = scale + kept.size();
  constexpr std::size_t kStretch = 128;  // whose buffers stay in the first cache from one loop to the next
  for (std::size_t begin = 0; begin < noise.size(); begin += kStretch) {
    const auto part = noise.subspan(begin, std::min(kStretch, noise.size() - begin));
    for (std::size_t buffer = 0; buffer < kept.size(); ++buffer) {
      const double* const values = kept[buffer].data() + first + begin;
      for (std::size_t i = 0; i < part.size(); ++i) part[i] -= scale[buffer] * values[i];
    }
    for (std::size_t buffer = 0; buffer < kept.size(); ++buffer) {
      double* const values = kept[buffer].data() + first + begin;
      for (std::size_t i = 0; i < part.size(); ++i) values[i] = decay[buffer] * values[i] + part[i];
    }
  }
}

/// `draws(h)` has the row's draws of the node of height h that ends in this round.
template <class Draws>
void tree_row(const Correlation& correlation, Kept& kept, std::uint64_t t, std::size_t first, std::span<double> noise,
              Draws draws) {
  const std::uint64_t before = correlation.restart > 0 ? t % correlation.restart : t;  // rounds of this tree
  Units estimate;
  std::ranges::copy(noise, estimate.begin());
  Units ended{};
  double variance = 1;
  const auto height = static_cast<std::size_t>(std::countr_one(before));
  for (std::size_t h = 0; h < height; ++h) {
    const double own = 2 * variance / (1 + 2 * variance);
    const double* const left = kept[h].data() + first;
    const Units& node = draws(h + 1);
    for (std::size_t i = 0; i < noise.size(); ++i) {
      ended[i] += left[i];
      estimate[i] = own * node[i] + (1 - own) * (left[i] + estimate[i]);
    }
    variance = own;  // 2 v / (1 + 2 v)
  }
  std::copy_n(estimate.begin(), noise.size(), kept[height].begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = estimate[i] - ended[i];
}

}  // namespace

CorrelatedNoise::CorrelatedNoise(Correlation correlation, std::size_t size)
    : correlation_(std::move(correlation)), size_(size), kept_(kept_vectors(correlation_), std::vector<double>(size, 0.0)) {}

void CorrelatedNoise::add(ExactSum& sum, double standard_deviation, const RandomSource& source, std::uint32_t round,
                          ForEachPiece for_each_piece) {
  const auto which = [&] { return "round " + std::to_string(round) + ": its noise is correlated with that of earlier rounds, "; };
  if (round != rounds_ + 1) throw failure(which() + "of which " + std::to_string(rounds_) + " are known");
  if (round > correlation_.horizon) throw failure(which() + "and planned for " + std::to_string(correlation_.horizon));
  if (sum.size() != size_) throw failure(which() + "which had " + counted(size_, "number"));
  const double deviation = scaled_deviation(standard_deviation);
  const std::uint64_t t = rounds_;
  const std::size_t rows = (size_ + kComponentsPerRow - 1) / kComponentsPerRow;
  for_each_piece(static_cast<int>((rows + kRowsPerPiece - 1) / kRowsPerPiece), [&](int piece) {
    std::array<__int128, kComponentsPerRow> integers;
    Units noise;
    Units node;
    const std::size_t begin = static_cast<std::size_t>(piece) * kRowsPerPiece;
    for (std::size_t row = begin; row < std::min(begin + kRowsPerPiece, rows); ++row) {
      const std::size_t first = row * kComponentsPerRow;
      const std::size_t size = std::min(kComponentsPerRow, size_ - first);
      const auto draw = [&](std::size_t step, Units& to) -> const Units& {
        RandomStream random = source.at({.purpose = Purpose::client_noise,
                                         .round = round,
                                         .step = static_cast<std::uint32_t>(step),
                                         .row = static_cast<std::uint32_t>(row)});
        for (std::size_t i = 0; i < size; ++i) to[i] = random.normal();
        return to;
      };
      draw(0, noise);
      const auto part = std::span(noise).first(size);
      if (correlation_.mechanism == NoiseMechanism::banded) banded_row(correlation_, kept_, t, first, part);
      if (correlation_.mechanism == NoiseMechanism::blt) buffered_row(correlation_, kept_, first, part);
      if (correlation_.mechanism == NoiseMechanism::tree)
        tree_row(correlation_, kept_, t, first, part, [&](std::size_t height) -> const Units& { return draw(height, node); });
      for (std::size_t i = 0; i < size; ++i) {
        const double whole = std::nearbyint(noise[i] * deviation);
        integers[i] = std::abs(whole) < 0x1p62 ? __int128{static_cast<std::int64_t>(whole)} : static_cast<__int128>(whole);
      }
      sum.add_integers(first, std::span(integers).first(size));
    }
  });
  rounds_ = round;
}

std::string CorrelatedNoise::save() const {
  return state_bytes([&](std::ostream& bytes) { write_archive(bytes, rounds_, kept_); });
}

void CorrelatedNoise::load(const std::string& bytes) {
  Kept kept;
  std::uint32_t rounds = 0;
  load_state(bytes, "the correlated noise", save().size(), [&](std::istream& stream) { read_archive(stream, rounds, kept); });
  const bool fits =
      kept.size() == kept_.size() && rounds <= correlation_.horizon && std::ranges::all_of(kept, [&](const auto& vector) {
        return vector.size() == size_ && std::ranges::all_of(vector, [](double value) { return std::isfinite(value); });
      });
  if (!fits) throw failure("the correlated noise in the checkpoint is damaged, or belongs to other noise or another model");
  rounds_ = rounds;
  kept_ = std::move(kept);
}

}  // namespace fedstride
