#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "dp/accountants/calibrate.hpp"

namespace fedstride::test {

/// The number of releases of the sequence, counted one by one, that fit the budget after `spent`.
inline std::uint64_t longest_prefix(const Accountant& accountant, std::span<const Releases> spent,
                                    std::span<const Releases> sequence, double epsilon, double delta) {
  std::uint64_t total = 0;
  for (const Releases& releases : sequence) total += releases.count;
  Spending spending;
  return largest_count(total, 1, [&](std::uint64_t length) {
    spending.assign(spent.begin(), spent.end());
    for (const Releases& releases : sequence) {
      if (length == 0) break;
      spending.push_back(releases);
      spending.back().count = std::min(length, releases.count);
      length -= spending.back().count;
    }
    return meets(accountant, spending, epsilon, delta);
  });
}

}  // namespace fedstride::test
