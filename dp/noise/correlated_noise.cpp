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
    : correlation_(std::move(correlation)),
      size_(size),
      encoded_(kept_vectors(correlation_), std::vector<double>(size, 0.0)),
      decoded_(encoded_) {}

void CorrelatedNoise::add(ExactSum& sum, const NoiseGrid& grid, const RandomSource& source, std::uint32_t round,
                          ForEachPiece for_each_piece) {
  const auto which = [&] { return "round " + std::to_string(round) + ": its noise is correlated with that of earlier rounds, "; };
  if (round != rounds_ + 1) throw failure(which() + "of which " + std::to_string(rounds_) + " are known");
  if (round > correlation_.horizon)
    throw failure(which() + "but planned only up to round " + std::to_string(correlation_.horizon));
  if (sum.size() != size_) throw failure(which() + "whose sums had " + counted(size_, "component"));
  check_deviation(grid.deviation);
  const MechanismPart& mechanism = mechanism_of(correlation_);
  const std::uint64_t t = rounds_;
  const NoiseGrid in_units = {grid.deviation * ExactSum::kScale, grid.bits};
  const std::span<__int128> integers = sum.integers();
  for_each_row_of(size_, for_each_piece, [&](std::size_t first, std::size_t size) {
    Units row;
    // The vectors noised in this round, by number.
    std::vector<Units> noised(1);
    const auto put = [&](std::size_t number, std::span<const double> values) {
      noised.resize(std::max(noised.size(), number + 1));
      release_on_grid(in_units, source,
                      {.purpose = Purpose::client_noise, .round = round, .step = static_cast<std::uint32_t>(number)}, first,
                      values, 1, std::span(noised[number]).first(size));
    };
    for (std::size_t i = 0; i < size; ++i) row[i] = static_cast<double>(integers[first + i]);
    const auto values = std::span(row).first(size);
    mechanism.encode(correlation_, {t, first, values, encoded_}, put);
    put(0, values);
    std::ranges::copy_n(noised[0].begin(), static_cast<std::ptrdiff_t>(size), row.begin());
    const auto further = [&](std::size_t number) { return std::span<const double>(noised[number]).first(size); };
    mechanism.correlate(correlation_, {t, first, values, decoded_}, further);
    for (std::size_t i = 0; i < size; ++i) integers[first + i] = static_cast<__int128>(std::nearbyint(row[i]));
  });
  rounds_ = round;
}

std::string CorrelatedNoise::save() const {
  return state_bytes([&](std::ostream& bytes) { write_archive(bytes, rounds_, encoded_, decoded_); });
}

void CorrelatedNoise::load(const std::string& bytes) {
  Kept encoded, decoded;
  std::uint32_t rounds = 0;
  load_state(bytes, "the correlated noise", save().size(),
             [&](std::istream& stream) { read_archive(stream, rounds, encoded, decoded); });
  const auto fits = [&](const Kept& kept) {
    return kept.size() == encoded_.size() && std::ranges::all_of(kept, [&](const auto& vector) {
             return vector.size() == size_ && std::ranges::all_of(vector, [](double value) { return std::isfinite(value); });
           });
  };
  if (rounds > correlation_.horizon || !fits(encoded) || !fits(decoded))
    throw failure("the correlated noise in the checkpoint is damaged, or belongs to other noise or another model");
  rounds_ = rounds;
  encoded_ = std::move(encoded);
  decoded_ = std::move(decoded);
}

}  // namespace fedstride
