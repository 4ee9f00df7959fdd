#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/random.hpp"
#include "core/vector.hpp"
#include "dp/accountants/mechanism.hpp"

namespace fedstride {

/// The ring size, in bits, with which a sum over this many clients wraps with probability below 2^-40, whatever the updates are.
unsigned bits_of_shares(NoiseLaw law, double bound, double deviation, double step, std::size_t size, std::size_t clients);

/// A client's part of a sum to which clients add the noise: its clipped update plus its share of the noise, in integer multiples
/// of a step (Kairouz, Liu & Steinke 2021; Agarwal, Kairouz & Liu 2021). The update is padded to a power-of-two length, its signs
/// are flipped at random, with draws shared by all clients in a round, and the Walsh-Hadamard transform is applied. The result is
/// divided by the step and rounded up or down without bias; rounding is repeated until the norm is at most rounded_norm(). Then
/// noise is added. The norm check and the noise use integers.
class NoiseShare {
 public:
  /// For updates of `size` numbers and norm at most `bound`, with noise of this standard deviation from each client. The
  /// law may round the deviation up. Throws Error (usage) if the noise cannot be drawn.
  NoiseShare(NoiseLaw law, double bound, double deviation, double step, std::size_t size);

  /// Length of the summed vector: the smallest power of two not below the size.
  std::size_t length() const { return length_; }
  double step() const { return step_; }
  double variance() const { return noise_.variance; }  ///< of a client's noise, in squared steps

  /// Writes a client's part to `out`. `common` is the source of the round's draws, which all clients share; `own` is the source
  /// of the client's secret draws.
  void encode(std::span<const float> clipped, const RandomSource& common, const RandomSource& own, std::uint32_t round,
              std::uint32_t client, std::span<std::int64_t> out) const;
  /// Turns a sum, in steps, back into a vector of `size` numbers.
  Vector decode(std::span<const double> sum, const RandomSource& common, std::uint32_t round) const;

  /// All parameters as text; clients and coordinator must have the same text.
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
