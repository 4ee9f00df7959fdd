#include "core/normals.hpp"

#include <cmath>
#include <numbers>

namespace fedstride {

void add_normals(const RandomSource& source, const Address& address, std::uint64_t first, float scale,
                 std::span<float> values) {
  const RandomStream stream = source.at(address);
  const std::size_t words = stream.words_per_block();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t j = first + i;
    const std::uint64_t row = j % (16 * words) / 16;
    auto counter = stream.counter();
    counter[0] = static_cast<std::uint32_t>(j / (16 * words) * 16 + j % 16);
    const auto word = [&](std::uint64_t k) {
      return stream.is_secret() ? chacha20_block(stream.secret_key(), counter)[k]
                                : philox4x32(counter, stream.key())[k];
    };
    const double u = (word(row / 2 * 2) + 0.5) * 0x1p-32;
    const double v = (word(row / 2 * 2 + 1) + 0.5) * 0x1p-32;
    const double angle = 2 * std::numbers::pi * v;
    values[i] += scale * static_cast<float>(std::sqrt(-2 * std::log(u)) * (row % 2 == 0 ? std::cos(angle) : std::sin(angle)));
  }
}

}  // namespace fedstride
