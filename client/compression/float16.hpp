#pragma once

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/halves.hpp"

namespace fedstride {

/// Rounds to the nearest half-precision float (IEEE 754 binary16), ties to even: 11 significant bits. Magnitudes above
/// 65504 become 65504; those below 3e-8 become 0.
template <class Way>
struct Float16 final : PartBase<Way, Float16<Way>> {
  static constexpr std::string_view kName = "float16";
  static constexpr std::string_view kSummary = "half precision: 11 significant bits, at most 65504; 16 bits per entry";

  std::uint64_t most_bytes(std::size_t d) const override { return 2 * std::uint64_t{d}; }
  void encode(std::span<const float> numbers, const CodeAddress&, std::string& code) const override {
    put_halves(numbers, code, half_of);
  }
  bool decode(std::string_view code, const CodeAddress&, std::span<float> numbers) const override {
    return take_halves(code, numbers, float_of_half);
  }
};

}  // namespace fedstride
