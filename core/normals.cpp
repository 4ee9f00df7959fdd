#include "core/normals.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "core/kernels/words.hpp"

namespace fedstride {

void add_normals(const RandomSource& source, const Address& address, std::uint64_t first, float scale, std::span<float> values) {
  assert(first <= kMaxNormals && values.size() <= kMaxNormals - first);
  const RandomStream stream = source.at(address);
  const auto counter = stream.counter();
  const auto short_key = stream.key();
  const BlockKey from{stream.is_secret() ? stream.secret_key().data() : short_key.data(), counter.data() + 1};
  const std::size_t group = stream.is_secret() ? kChachaNormals : kPhiloxNormals;
  const auto add_groups = stream.is_secret() ? add_chacha_normals : add_philox_normals;

  while (!values.empty()) {
    const auto number = static_cast<std::uint32_t>(first / group);
    const auto skipped = static_cast<std::size_t>(first % group);
    std::size_t done = 0;
    if (skipped == 0 && values.size() >= group) {
      done = values.size() / group * group;
      add_groups(from, number, scale, values.data(), done / group);
    } else {
      // For part of a group, the same kernel computes the whole group in a buffer, so the bits are equal.
      alignas(64) std::array<float, kChachaNormals> whole{};
      done = std::min(group - skipped, values.size());
      std::ranges::copy(values.first(done), whole.begin() + static_cast<std::ptrdiff_t>(skipped));
      add_groups(from, number, scale, whole.data(), 1);
      std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(skipped), done, values.begin());
    }
    values = values.subspan(done);
    first += done;
  }
}

}  // namespace fedstride
