#pragma once

#include <cstddef>
#include <string>

#include "core/term.hpp"

namespace fedstride {

/// Shape of one example: height x width x channels. Plain features have height = width = 1.
/// In memory, an example's channels are innermost (NHWC).
struct Shape {
  int height = 1;
  int width = 1;
  int channels = 1;

  std::size_t size() const { return static_cast<std::size_t>(height) * width * channels; }
  std::string text() const { return std::to_string(height) + "x" + std::to_string(width) + "x" + std::to_string(channels); }
  bool operator==(const Shape&) const = default;
  static constexpr auto kTerms =
      terms(Term{"height", &Shape::height, true}, Term{"width", &Shape::width, true}, Term{"channels", &Shape::channels, true});
};

}  // namespace fedstride
