#include "core/kernels/words.hpp"

#include "core/kernels/blocks.hpp"

namespace fedstride {
namespace {

template <class Generator>
void words_of(const BlockKey& from, const std::uint32_t* numbers, std::size_t batches, std::uint32_t* words) {
  for (std::size_t batch = 0; batch < batches; ++batch) {
    for (int lane = 0; lane < kBlocksAtOnce; lane += kLanes) {
      WordLanes rows[Generator::kWords];
      Generator::blocks(from, *reinterpret_cast<const UnalignedWordLanes*>(numbers + lane), rows);
      unrolled<Generator::kWords>([&](auto k) FEDSTRIDE_INLINE_LAMBDA {
        *reinterpret_cast<UnalignedWordLanes*>(words + kBlocksAtOnce * k + lane) = rows[k];
      });
    }
    numbers += kBlocksAtOnce;
    words += kBlocksAtOnce * Generator::kWords;
  }
}

}  // namespace

void philox_words(const BlockKey& from, const std::uint32_t* numbers, std::size_t batches, std::uint32_t* words) {
  words_of<Philox>(from, numbers, batches, words);
}

void chacha_words(const BlockKey& from, const std::uint32_t* numbers, std::size_t batches, std::uint32_t* words) {
  words_of<ChaCha>(from, numbers, batches, words);
}

}  // namespace fedstride
