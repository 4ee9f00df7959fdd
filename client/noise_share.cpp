#include "client/noise_share.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "client/compression/hadamard.hpp"
#include "core/elementary.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "dp/noise/client_release.hpp"

namespace fedstride {
namespace {

constexpr std::size_t kSharesPerRow = 1024;
// Steps of the address (client_noise, round, client): the first for the noise, the second and later ones for rounding attempts.
constexpr std::uint32_t kNoiseStep = 1;
constexpr std::uint32_t kRoundingStep = 2;

RandomSigns common_signs(const RandomSource& common, std::uint32_t round) {
  return RandomSigns(common.at({Purpose::secure_rounding, round, 0, 2}));
}

}  // namespace

NoiseShare::NoiseShare(NoiseLaw law, double bound, double deviation, double step, std::size_t size)
    : law_(law),
      bound_(bound),
      deviation_(deviation),
      step_(step),
      size_(size),
      length_(std::bit_ceil(std::max<std::size_t>(size, 1))),
      norm_(rounded_norm({.step = step, .clip = bound, .dimension = length_})) {
  constexpr double kMostSteps = 0x1p31;
  const double steps = deviation / step;
  if (!(steps > 0 && bound / step <= kMostSteps && steps <= kMostSteps))
    throw usage_error("the step of distributed noise is " + number_text(step) + "; clip and noise must be at most 2^31 steps");
  noise_ = law_of(law).share(steps);
}

void NoiseShare::encode(std::span<const float> clipped, const RandomSource& common, const RandomSource& own, std::uint32_t round,
                        std::uint32_t client, std::span<std::int64_t> out) const {
  if (clipped.size() != size_ || out.size() != length_) throw failure("a noise share is for a vector of another size");
  Vector rotated(length_);
  std::ranges::copy(clipped, rotated.begin());
  common_signs(common, round).apply(rotated.data(), length_);
  walsh_hadamard(rotated.data(), length_);
  const Address address{Purpose::client_noise, round, client};
  round_within_norm(view(std::as_const(rotated)), own, address, out);
  add_noise(own, address, out);
}

void NoiseShare::round_within_norm(std::span<const float> rotated, const RandomSource& own, Address address,
                                   std::span<std::int64_t> out) const {
  // Rounding errors in the transform may have lengthened the vector.
  const double norm = l2_norm(rotated);
  const double factor = (norm > bound_ ? bound_ / norm : 1) / step_;
  const auto most = static_cast<unsigned __int128>(norm_ * norm_ * (1 - 1e-12));
  // Each attempt succeeds with probability at least 1 - e^(-1/2).
  constexpr std::uint32_t kAttempts = 1000;
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    unsigned __int128 squares = 0;
    address.step = kRoundingStep + attempt;
    for (std::size_t first = 0; first < length_; first += kSharesPerRow) {
      address.row = static_cast<std::uint32_t>(first / kSharesPerRow);
      RandomStream random = own.at(address);
      for (std::size_t i = first; i < std::min(first + kSharesPerRow, length_); ++i) {
        out[i] = static_cast<std::int64_t>(std::floor(static_cast<double>(rotated[i]) * factor + random.uniform()));
        squares += static_cast<unsigned __int128>(static_cast<__int128>(out[i]) * out[i]);
      }
    }
    if (squares <= most) return;
  }
  throw failure("an update of client " + std::to_string(address.client) +
                " could not be rounded without exceeding the norm bound");
}

void NoiseShare::add_noise(const RandomSource& own, Address address, std::span<std::int64_t> out) const {
  address.step = kNoiseStep;
  for (std::size_t first = 0; first < length_; first += kSharesPerRow) {
    address.row = static_cast<std::uint32_t>(first / kSharesPerRow);
    RandomStream random = own.at(address);
    for (std::int64_t& value : out.subspan(first, std::min(kSharesPerRow, length_ - first))) value += noise_.draw(random);
  }
}

Vector NoiseShare::decode(std::span<const double> sum, const RandomSource& common, std::uint32_t round) const {
  Vector vector(length_);
  for (std::size_t i = 0; i < length_; ++i) vector[i] = static_cast<float>(sum[i] * step_);
  walsh_hadamard(vector.data(), length_);
  common_signs(common, round).apply(vector.data(), length_);
  vector.resize(size_);
  return vector;
}

unsigned bits_of_shares(NoiseLaw law, double bound, double deviation, double step, std::size_t size, std::size_t clients) {
  // The noise law rounds a deviation up by less than a step.
  const double tail = law_of(law).tail(deviation / step + 1);
  const double exponent = portable::log(0x1p42 * static_cast<double>(size));
  const double variance = static_cast<double>(clients) * (deviation / step + 1) * (deviation / step + 1);
  const double noise = exponent * tail + std::sqrt(exponent * exponent * tail * tail + 2 * exponent * variance);
  const double largest = static_cast<double>(clients) * (bound / step + 1) + noise;
  return static_cast<unsigned>(std::ilogb(largest)) + 2;  // one bit for the sign
}

std::string NoiseShare::text() const {
  return std::string(choice_name(law_)) + " " + number_text(bound_) + " " + number_text(deviation_) + " " + number_text(step_) +
         " " + std::to_string(size_);
}

}  // namespace fedstride
