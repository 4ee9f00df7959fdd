#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/random.hpp"
#include "core/vector.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// The bits that a ring needs so that a sum of this many clients wraps with a probability below 2^-40, for any updates.
unsigned bits_of_shares(NoiseLaw law, double bound, double deviation, double step, std::size_t size, std::size_t clients);

/// A client's part of a sum with noise from clients: its clipped update with its share of the noise, as whole multiples of a step
/// (Kairouz, Liu & Steinke 2021; Agarwal, Kairouz & Liu 2021). The update is padded to a power of two numbers, its signs are
/// flipped at random and it is transformed (Walsh-Hadamard), with draws common to all clients of a round; then it is divided by
/// the step, rounded up or down without bias, repeatedly until its norm is at most rounded_norm(), and noise is added. The noise
/// and that last comparison are on integers.
class NoiseShare {
 public:
  /// For updates of `size` numbers and norm at most `bound`, with noise of this deviation from each client. Its law may round the
  /// deviation up. Throws Error (usage) if the noise cannot be drawn.
  NoiseShare(NoiseLaw law, double bound, double deviation, double step, std::size_t size);

  /// Length of the summed vector: the smallest power of two not below the size.
  std::size_t length() const { return length_; }
  double step() const { return step_; }
  double variance() const { return noise_.variance; }  ///< of a client's noise, in squared steps

  /// The part of a client. `common` has the draws of the round, the same for all clients, `own` the client's secret ones.
  void encode(std::span<const float> clipped, const RandomSource& common, const RandomSource& own, std::uint32_t round,
              std::uint32_t client, std::span<std::int64_t> out) const;
  /// Turns a sum, in steps, back into a vector of `size` numbers.
  Vector decode(std::span<const double> sum, const RandomSource& common, std::uint32_t round) const;

  /// All parameters, as a text that clients and coordinator must agree on.
  std::string text() const;

 private:
  void round_within_norm(std::span<const float> rotated, const RandomSource& own, Address address,
                         std::span<std::int64_t> out) const;
  void add_noise(const RandomSource& own, Address address, std::span<std::int64_t> out) const;

  NoiseLaw law_;
  double bound_;
  double deviation_;
  double step_;
  std::size_t size_;
  std::size_t length_;
  double norm_;  ///< largest norm of a rounded vector, in steps
  IntegerNoise noise_ = {};
};

}  // namespace fedstride
