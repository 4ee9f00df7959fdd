#include "dp/accountants/mechanism.hpp"

#include <algorithm>
#include <cmath>

namespace fedstride {

std::uint64_t lots_an_epoch(double rate) {
  constexpr double kMaxLots = 1e15;
  return static_cast<std::uint64_t>(std::clamp(std::round(1 / rate), 1.0, kMaxLots));
}

}  // namespace fedstride
