#pragma once

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/halves.hpp"

namespace fedstride {

/// Rounds to the nearest bfloat16, ties to even: a float's upper half, with 8 significant bits.
template <class Way>
struct BrainFloat16 final : PartBase<Way, BrainFloat16<Way>> {
  static constexpr std::string_view kName = "bfloat16";
  static constexpr std::string_view kSummary = "a float's upper half: 8 significant bits, same range; 16 bits per entry";

  std::uint64_t most_bytes(std::size_t d) const override { return 2 * std::uint64_t{d}; }
  void encode(std::span<const float> numbers, const CodeAddress&, std::string& code) const override {
    put_halves(numbers, code, bfloat_of);
  }
  bool decode(std::string_view code, const CodeAddress&, std::span<float> numbers) const override {
    return take_halves(code, numbers, float_of_bfloat);
  }
};

}  // namespace fedstride
