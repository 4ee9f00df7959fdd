#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace fedstride {

/// Where a connection comes from, as far as shares are concerned: an IPv4 address, or the 64 bits of an IPv6 network, of which
/// a single machine has all addresses.
using Source = std::uint64_t;

/// That of an IPv6 address, which may stand for an IPv4 one (::ffff:192.0.2.1).
inline Source source_of(const std::array<std::uint8_t, 16>& address) {
  constexpr std::array<std::uint8_t, 12> kIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool is_ipv4 = std::equal(kIpv4.begin(), kIpv4.end(), address.begin());
  Source source = 0;
  for (std::size_t i = is_ipv4 ? 12 : 0; i < (is_ipv4 ? 16U : 8U); ++i) source = source << 8 | address[i];
  return source;
}

}  // namespace fedstride
