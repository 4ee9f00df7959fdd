#pragma once

#include <cmath>

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/halves.hpp"

namespace fedstride {

/// Sends uncompressed floats.
template <class Way>
struct NoCompression final : PartBase<Way, NoCompression<Way>> {
  static constexpr std::string_view kName = "none";
  static constexpr std::string_view kSummary = "uncompressed floats, 32 bits per entry";

  bool codes() const override { return false; }
  std::uint64_t most_bytes(std::size_t d) const override { return 4 * std::uint64_t{d}; }
  void encode(std::span<const float> numbers, const CodeAddress&, std::string& code) const override {
    code.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  }
  bool decode(std::string_view code, const CodeAddress&, std::span<float> numbers) const override {
    if (code.size() != numbers.size_bytes()) return false;
    std::memcpy(numbers.data(), code.data(), code.size());
    return all_finite(numbers);
  }
};

}  // namespace fedstride
