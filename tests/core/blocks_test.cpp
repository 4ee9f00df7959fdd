#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "core/kernels/words.hpp"
#include "core/random.hpp"

namespace fedstride::test::blocks_test {
namespace {

TEST_CASE("blocks made sixteen at once are those made one by one, for any numbers, addresses and keys") {
  RandomStream random(1, {.purpose = Purpose::test});
  for (int trial = 0; trial < 100; ++trial) {
    std::array<std::uint32_t, 8> key;
    std::array<std::uint32_t, 4> counter;
    for (auto& word : key) word = random();
    for (auto& word : counter) word = random() >> (trial % 32);
    const std::size_t batches = 1 + static_cast<std::size_t>(trial) % 4;
    std::vector<std::uint32_t> numbers(16 * batches);
    for (auto& number : numbers) number = random() >> (trial % 31);
    std::vector<std::uint32_t> philox(4 * numbers.size());
    std::vector<std::uint32_t> chacha(16 * numbers.size());
    const BlockKey from{key.data(), counter.data() + 1};
    philox_words(from, numbers.data(), batches, philox.data());
    chacha_words(from, numbers.data(), batches, chacha.data());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      counter[0] = numbers[i];
      const auto four = philox4x32(counter, {key[0], key[1]});
      const auto sixteen = chacha20_block(key, counter);
      for (std::size_t k = 0; k < 4; ++k) REQUIRE(philox[16 * (4 * (i / 16) + k) + i % 16] == four[k]);
      for (std::size_t k = 0; k < 16; ++k) REQUIRE(chacha[16 * (16 * (i / 16) + k) + i % 16] == sixteen[k]);
    }
  }
}

}  // namespace
}  // namespace fedstride::test::blocks_test
