#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/hadamard.hpp"

namespace fedstride {

/// DRIVE (Vargaftik et al. 2021) sends the signs of R x, which the receiver multiplies by |R x|^2 / |R x|_1 and rotates back. R
/// applies random signs and the Walsh-Hadamard transform to blocks of 8192 numbers; the last block is padded with zeros to a
/// power of 2. Unbiased over R, except that the transform is not a uniform rotation; error^2 = |x|^2 (|R x|_2^2 d / |R x|_1^2 -
/// 1), near (pi/2 - 1) |x|^2. Takes 32 bits per block and one per number.
template <class Way>
struct Drive final : PartBase<Way, Drive<Way>> {
  using PartBase<Way, Drive<Way>>::PartBase;
  static constexpr std::string_view kName = "drive";
  static constexpr std::string_view kSummary =
      "signs after a random rotation and one scale per block (Vargaftik et al. 2021); 1 bit per entry, unbiased";

  std::uint64_t most_bytes(std::size_t d) const override {
    std::uint64_t bytes = 0;
    for_each_block(d, [&](std::size_t, std::size_t, std::size_t size) { bytes += 4 + bytes_of_bits(size); });
    return bytes;
  }
  void encode(std::span<const float> numbers, const CodeAddress& address, std::string& code) const override {
    std::vector<float> block(std::min(kBlock, std::bit_ceil(numbers.size())));
    RandomSigns signs(address.own());
    for_each_block(numbers.size(), [&](std::size_t first, std::size_t count, std::size_t size) {
      std::ranges::copy(numbers.subspan(first, count), block.begin());
      std::fill(block.begin() + static_cast<std::ptrdiff_t>(count), block.begin() + static_cast<std::ptrdiff_t>(size), 0.0F);
      signs.apply(block.data(), size);
      walsh_hadamard(block.data(), size);
      double square = 0, sum = 0;
      add_magnitudes(block.data(), size, square, sum);
      put_number(code, sum > 0 ? static_cast<float>(square / sum) : 0.0F);
      put_signs(block.data(), size, code);
    });
  }
  bool decode(std::string_view code, const CodeAddress& address, std::span<float> numbers) const override {
    if (code.size() != most_bytes(numbers.size())) return false;
    std::vector<float> block(std::min(kBlock, std::bit_ceil(numbers.size())));
    RandomSigns signs(address.own());
    bool good = true;
    for_each_block(numbers.size(), [&](std::size_t first, std::size_t count, std::size_t size) {
      const auto scale = take_number<float>(code);
      good &= scale >= 0 && scale <= 0x1.0p40F;
      good &= take_signs(code, scale, block.data(), size);
      code.remove_prefix(bytes_of_bits(size));
      walsh_hadamard(block.data(), size);
      signs.apply(block.data(), size);
      std::copy_n(block.begin(), count, numbers.begin() + static_cast<std::ptrdiff_t>(first));
    });
    return good;
  }

 private:
  static constexpr std::size_t kBlock = 8192;
  static void for_each_block(std::size_t d, auto&& each) {
    for (std::size_t first = 0; first < d; first += kBlock) {
      const std::size_t count = std::min(kBlock, d - first);
      each(first, count, std::bit_ceil(count));
    }
  }
};

}  // namespace fedstride
