#include "dp/sampling.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace fedstride {
namespace {

std::vector<std::uint64_t> draws(const RandomSource& source, const Address& address,
                                 std::span<const std::uint32_t> ids) {
  const RandomStream stream = source.at(address);
  const std::size_t ids_per_block = stream.words_per_block() / 2;
  std::vector<std::uint64_t> result(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto counter = stream.counter();
    counter[0] = static_cast<std::uint32_t>(ids[i] / ids_per_block);
    const std::size_t place = 2 * (ids[i] % ids_per_block);
    const auto pick = [&](const auto& words) { return words[place] | std::uint64_t{words[place + 1]} << 32; };
    result[i] = stream.is_secret() ? pick(chacha20_block(stream.secret_key(), counter))
                                   : pick(philox4x32(counter, stream.key()));
  }
  return result;
}

}  // namespace

void draw_poisson(const RandomSource& source, const Address& address, double rate, std::span<const std::uint32_t> ids,
                  std::vector<std::uint32_t>& drawn) {
  assert(rate >= 0 && rate <= 1);
  if (rate >= 1) {
    drawn.assign(ids.begin(), ids.end());
    return;
  }
  drawn.clear();
  const auto threshold = static_cast<std::uint64_t>(std::floor(std::ldexp(rate, 64)));
  const auto draw = draws(source, address, ids);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (draw[i] < threshold) drawn.push_back(ids[i]);
}

void draw_without_replacement(const RandomSource& source, const Address& address, std::size_t count,
                              std::span<const std::uint32_t> ids, std::vector<std::uint32_t>& drawn) {
  if (count >= ids.size()) {
    drawn.assign(ids.begin(), ids.end());
    return;
  }
  drawn.clear();
  if (count == 0) return;
  const auto draw = draws(source, address, ids);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) keys[i] = {draw[i], ids[i]};
  const auto last = keys.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::ranges::nth_element(keys, last);
  const auto largest = *last;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (std::pair(draw[i], ids[i]) <= largest) drawn.push_back(ids[i]);
}

}  // namespace fedstride
