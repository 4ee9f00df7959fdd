#include "client/compression/draws.hpp"

#include <numeric>

#include "core/kernels/words.hpp"

namespace fedstride {

Draws::Draws(const RandomStream& stream) : key_(stream.key()), counter_(stream.counter()) {}

const std::array<std::uint32_t, Draws::kAtOnce>& Draws::next() {
  constexpr std::size_t kBlocks = kAtOnce / 4;
  std::array<std::uint32_t, kBlocks> numbers;
  std::iota(numbers.begin(), numbers.end(), block_);
  block_ += kBlocks;
  philox_words({key_.data(), counter_.data() + 1}, numbers.data(), kBlocks / kBlocksAtOnce, words_.data());
  return words_;
}

}  // namespace fedstride
