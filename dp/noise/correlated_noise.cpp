#include "dp/noise/correlated_noise.hpp"

#include <algorithm>
#include <array>
#include <cereal/types/vector.hpp>
#include <cmath>
#include <span>

#include "core/error.hpp"
#include "core/part_state.hpp"
#include "core/text.hpp"
#include "dp/correlations/correlation.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {
namespace {

using Units = std::array<double, kComponentsPerRow>;
using Kept = std::vector<std::vector<double>>;

}  // namespace

CorrelatedNoise::CorrelatedNoise(Correlation correlation, std::size_t size)
    : correlation_(std::move(correlation)), size_(size), kept_(kept_vectors(correlation_), std::vector<double>(size, 0.0)) {}

void CorrelatedNoise::add(ExactSum& sum, double standard_deviation, const RandomSource& source, std::uint32_t round,
                          ForEachPiece for_each_piece) {
  const auto which = [&] { return "round " + std::to_string(round) + ": its noise is correlated with that of earlier rounds, "; };
  if (round != rounds_ + 1) throw failure(which() + "of which " + std::to_string(rounds_) + " are known");
  if (round > correlation_.horizon)
    throw failure(which() + "but planned only up to round " + std::to_string(correlation_.horizon));
  if (sum.size() != size_) throw failure(which() + "whose sums had " + counted(size_, "component"));
  const double deviation = scaled_deviation(standard_deviation);
  const std::uint64_t t = rounds_;
  const std::size_t rows = (size_ + kComponentsPerRow - 1) / kComponentsPerRow;
  const std::span<__int128> integers = sum.integers();
  for_each_piece(static_cast<int>((rows + kRowsPerPiece - 1) / kRowsPerPiece), [&](int piece) {
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
      const auto further = [&](std::size_t number) { return std::span<const double>(draw(number, node)).first(size); };
      mechanism_of(correlation_).correlate(correlation_, {t, first, std::span(noise).first(size), kept_, further});
      for (std::size_t i = 0; i < size; ++i) {
        const double whole = std::nearbyint(noise[i] * deviation);
        integers[first + i] +=
            std::abs(whole) < 0x1p62 ? __int128{static_cast<std::int64_t>(whole)} : static_cast<__int128>(whole);
      }
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
