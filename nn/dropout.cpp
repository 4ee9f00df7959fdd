#include "nn/dropout.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "core/kernels/words.hpp"

namespace fedstride {
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
  // Even if rate < 1, this may round to 2^32, which does not fit in 32 bits.
  const auto threshold = static_cast<std::uint32_t>(std::min(std::round(rate * 0x1.0p32), 0x1.0p32 - 1));
  const auto kept = static_cast<float>(1 / (1 - rate));
  const auto key = stream.key();
  const auto counter = stream.counter();
  std::array<std::uint32_t, kBlocksAtOnce> numbers;
  std::array<std::uint32_t, 4 * kBlocksAtOnce> words;  // [word of a block][block]
  for (std::size_t begin = 0; begin < mask.size(); begin += words.size()) {
    std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>((first_word + begin) / 4));
    philox_words({key.data(), counter.data() + 1}, numbers.data(), 1, words.data());
    std::array<float, 4 * kBlocksAtOnce> values;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      for (std::size_t j = 0; j < 4; ++j) values[4 * i + j] = words[j * numbers.size() + i] < threshold ? 0.0F : kept;
    const auto part = mask.subspan(begin, std::min(values.size(), mask.size() - begin));
    std::copy_n(values.begin(), part.size(), part.begin());
  }
}

}  // namespace fedstride
