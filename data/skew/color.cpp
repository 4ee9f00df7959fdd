#include "data/skew/color.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

namespace fedstride {
namespace {

constexpr int kMaxChannels = 8;  // of an image (data/batch.cpp)

/// The channel at each position of the permutation with this number, in lexicographic order.
std::array<int, kMaxChannels> permutation(std::uint32_t number, int channels) {
  std::array<int, kMaxChannels> left{};
  std::iota(left.begin(), left.end(), 0);
  std::array<int, kMaxChannels> order{};
  std::uint32_t choices = 1;
  for (int i = 2; i <= channels; ++i) choices *= static_cast<std::uint32_t>(i);
  number %= choices;
  for (int place = 0; place < channels; ++place) {
    choices /= static_cast<std::uint32_t>(channels - place);
    const auto chosen = left.begin() + static_cast<std::ptrdiff_t>(number / choices);
    number %= choices;
    order[static_cast<std::size_t>(place)] = *chosen;
    std::rotate(chosen, chosen + 1, left.end());
  }
  return order;
}

}  // namespace

std::string ColorSkew::objection(const Dataset& data) const {
  if (!data.is_pictures()) return "which changes images; data set '" + data.name + "' has none";
  if (data.shape.channels >= 2 && data.shape.channels <= kMaxChannels) return {};
  return "which needs images of 2 to " + std::to_string(kMaxChannels) + " channels; those of data set '" + data.name + "' are " +
         data.shape.text();
}

void ColorSkew::redraw(std::uint32_t client, const std::uint8_t* from, const Shape& shape, std::uint8_t* to) const {
  const auto plane = static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
  const auto order = permutation(client, shape.channels);
  for (int place = 0; place < shape.channels; ++place, to += plane) {
    const int channel = color == ColorChange::permute ? order[static_cast<std::size_t>(place)] : place;
    std::copy_n(from + plane * static_cast<std::size_t>(channel), plane, to);
    if (color == ColorChange::tint && place != static_cast<int>(client % static_cast<std::uint32_t>(shape.channels)))
      for (std::uint8_t& value : std::span(to, plane)) value = static_cast<std::uint8_t>(std::lround((1 - tint) * value));
  }
}

}  // namespace fedstride
