#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <future>
#include <thread>

#include "core/floating_point.hpp"

namespace fedstride {

/// Calls make(i) for i from 0 to count - 1 on other threads, and take(i, result) on this thread, in order. Holds only a few
/// results at a time. Rethrows what make throws.
template <class Make, class Take>
void make_ahead(std::size_t count, const Make& make, const Take& take) {
  const std::size_t most = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  std::deque<std::future<decltype(make(count))>> ahead;
  std::size_t begun = 0;
  for (std::size_t i = 0; i < count; ++i) {
    while (begun < count && begun < i + most)
      ahead.push_back(std::async(std::launch::async, [&make, which = begun++] {
        const FloatingPointMode mode;
        return make(which);
      }));
    auto made = ahead.front().get();
    ahead.pop_front();
    take(i, std::move(made));
  }
}

}  // namespace fedstride
