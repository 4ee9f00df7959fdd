#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/draws.hpp"

namespace fedstride {

/// Rounds at most Draws::kAtOnce numbers x to multiples m or m + 1 of `grid`, where m = floor(x / grid) and m + 1 has probability
/// x / grid - m; multiples are limited to +-2^30. Maps 0, -1, 1, -2, ... to 0, 1, 2, 3, ..., writes these to
/// `folded` and returns their bitwise OR.
std::uint32_t fold_multiples(std::span<const float> numbers, const std::array<std::uint32_t, Draws::kAtOnce>& words, float grid,
                             std::uint32_t* folded);

template <class Way>
struct RoundingSettings {
  double step = 1e-4;
  static constexpr auto kFields = fields(Field{Way::kIsUp ? "up-step" : "down-step", &RoundingSettings::step,
                                               "distance between grid points", Valid{.low = 1e-9, .high = 1e4}});
};

/// Stochastic rounding to multiples of g = step, a grid that all clients share: to floor(x/g) g, or one step more with
/// probability f = x/g - floor(x/g). Unbiased; E error^2 = g^2 sum f (1 - f). The first byte is the number of bits per multiple.
template <class Way>
struct StochasticRounding final : PartBase<Way, StochasticRounding<Way>, RoundingSettings<Way>> {
  static constexpr std::string_view kName = "rounding";
  static constexpr std::string_view kSummary =
      "stochastic rounding to a grid shared by all clients; unbiased, as many bits per entry as the largest needs";

  std::uint64_t most_bytes(std::size_t d) const override { return 1 + 4 * std::uint64_t{d}; }

  void encode(std::span<const float> numbers, const CodeAddress& address, std::string& code) const override {
    std::vector<std::uint32_t> folded(numbers.size());  // 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
    Draws draws(address.own());
    const auto grid = static_cast<float>(this->step);
    std::uint32_t all = 0;
    for (std::size_t first = 0; first < numbers.size(); first += Draws::kAtOnce)
      all |= fold_multiples(numbers.subspan(first, std::min(Draws::kAtOnce, numbers.size() - first)), draws.next(), grid,
                            folded.data() + first);
    const int width = std::bit_width(all);
    code.push_back(static_cast<char>(width));
    pack(folded, width, code);
  }

  bool decode(std::string_view code, const CodeAddress&, std::span<float> numbers) const override {
    if (code.empty()) return false;
    const unsigned width = static_cast<unsigned char>(code.front());
    code.remove_prefix(1);
    if (width > 32 || code.size() != bytes_of_bits(std::uint64_t{numbers.size()} * width)) return false;
    const auto grid = static_cast<float>(this->step);
    std::uint32_t all = 0;
    const bool good = unpack(code, numbers.size(), static_cast<int>(width), [&](std::size_t i, std::uint32_t one) {
      all |= one;
      const std::int32_t steps = static_cast<std::int32_t>(one >> 1) ^ -static_cast<std::int32_t>(one & 1);
      numbers[i] = static_cast<float>(steps) * grid;
    });
    return good && static_cast<unsigned>(std::bit_width(all)) == width;
  }
};

}  // namespace fedstride
