#pragma once

#include <algorithm>
#include <vector>

#include "client/compression/bits.hpp"
#include "client/compression/compressor.hpp"
#include "client/compression/halves.hpp"

namespace fedstride {

/// Sends k of the d numbers, at the same indices for all clients in a round; decoding multiplies them by d / k (Konecny et al.
/// 2016; Wangni et al. 2018). Unbiased; E error^2 = (d/k - 1) |x|^2. The indices follow from the seed, so a number sent takes 32
/// bits.
template <class Way>
struct RandomK final : PartBase<Way, RandomK<Way>, KeepSettings<Way>> {
  static constexpr std::string_view kName = "random-k";
  static constexpr std::string_view kSummary =
      "entries at random indices shared by all clients in a round, scaled up (Konecny et al. 2016); unbiased";

  bool suits_feedback() const override { return false; }
  std::uint64_t most_bytes(std::size_t d) const override { return 4 * std::uint64_t{kept_of(this->keep, d)}; }

  void encode(std::span<const float> numbers, const CodeAddress& address, std::string& code) const override {
    for_each_drawn(numbers.size(), address, [&](std::size_t place) { put_number(code, numbers[place]); });
  }
  bool decode(std::string_view code, const CodeAddress& address, std::span<float> numbers) const override {
    const std::size_t d = numbers.size(), k = kept_of(this->keep, d);
    if (code.size() != 4 * k) return false;
    const auto scale = static_cast<float>(static_cast<double>(d) / static_cast<double>(k));
    std::ranges::fill(numbers, 0.0F);
    for_each_drawn(d, address, [&](std::size_t place) { numbers[place] = scale * take_number<float>(code); });
    return all_finite(numbers);
  }

 private:
  // Calls use(place) for the selected indices, in ascending order. Draws the selected or the omitted indices one by one,
  // whichever are fewer.
  void for_each_drawn(std::size_t d, const CodeAddress& address, auto&& use) const {
    const std::size_t k = kept_of(this->keep, d);
    const bool marks_drawn = k <= d / 2;
    std::vector<bool> marked(d);
    RandomStream random = address.common();
    for (std::size_t left = marks_drawn ? k : d - k; left > 0;) {
      const auto place = static_cast<std::size_t>(random.below(d));
      if (marked[place]) continue;
      marked[place] = true;
      --left;
    }
    for (std::size_t place = 0; place < d; ++place)
      if (marked[place] == marks_drawn) use(place);
  }
};

}  // namespace fedstride
