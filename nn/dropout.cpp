#include "nn/dropout.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>

namespace fedstride {
namespace {

// Philox blocks made at once. 32: with 16, GCC 12 unrolls the loops before it can vectorise them and is 4 times slower.
constexpr std::size_t kBlocks = 32;
using WordRow = std::array<std::uint32_t, kBlocks>;

/// philox4x32 (core/random.hpp) of kBlocks counters that differ in their first word.
void philox_blocks(std::uint32_t first_block, std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key,
                   std::array<WordRow, 4>& words) {
  WordRow a, b, c, d;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    a[i] = first_block + static_cast<std::uint32_t>(i);
    b[i] = counter[1];
    c[i] = counter[2];
    d[i] = counter[3];
  }
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const std::uint64_t product0 = std::uint64_t{0xD2511F53} * a[i];
      const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * c[i];
      a[i] = static_cast<std::uint32_t>(product1 >> 32) ^ b[i] ^ key[0];
      b[i] = static_cast<std::uint32_t>(product1);
      c[i] = static_cast<std::uint32_t>(product0 >> 32) ^ d[i] ^ key[1];
      d[i] = static_cast<std::uint32_t>(product0);
    }
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  words = {a, b, c, d};
}

}  // namespace

std::size_t dropout_first_word(const Model& model, int layer) {
  std::size_t word = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layer); ++i)
    if (std::holds_alternative<Dropout>(model.layers()[i])) word += (model.shapes()[i + 1].size() + 3) / 4 * 4;
  return word;
}

void dropout_mask(const BatchAddress& address, Row row, std::size_t first_word, double rate, std::span<float> mask) {
  assert(first_word % 4 == 0 && rate >= 0 && rate < 1);
  const RandomStream stream(
      address.seed,
      {.purpose = Purpose::dropout, .round = address.round, .client = address.client, .step = address.step, .row = row});
  // rate < 1 may still round to 2^32, which 32 bits do not hold.
  const auto threshold = static_cast<std::uint32_t>(std::min(std::round(rate * 0x1.0p32), 0x1.0p32 - 1));
  const auto kept = static_cast<float>(1 / (1 - rate));
  std::array<WordRow, 4> words;
  for (std::size_t begin = 0; begin < mask.size(); begin += 4 * kBlocks) {
    philox_blocks(static_cast<std::uint32_t>((first_word + begin) / 4), stream.counter(), stream.key(), words);
    std::array<float, 4 * kBlocks> values;
    for (std::size_t i = 0; i < kBlocks; ++i)
      for (std::size_t j = 0; j < 4; ++j) values[4 * i + j] = words[j][i] < threshold ? 0.0F : kept;
    const auto part = mask.subspan(begin, std::min(values.size(), mask.size() - begin));
    std::copy_n(values.begin(), part.size(), part.begin());
  }
}

}  // namespace fedstride
