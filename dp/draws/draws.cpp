#include "dp/draws/draws.hpp"

#include <array>

namespace fedstride {

const Draw& draw_of(Sampling sampling) {
  static const DrawList draws;
  static const auto all = std::apply([](const auto&... one) { return std::array<const Draw*, sizeof...(one)>{&one...}; }, draws);
  return *all[static_cast<std::size_t>(sampling)];
}

}  // namespace fedstride
