#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fedstride {

/// An address to listen at or to connect to.
struct Endpoint {
  std::string host;  ///< a name or a number, IPv6 without its brackets
  std::uint16_t port = 0;
  std::string text() const;  ///< "127.0.0.1:7000", "[::1]:7000"
};

/// Reads "HOST:PORT", "[::1]:PORT". Port 0 (any free port) is valid only if `zero`. Throws Error (usage) that names `what`
/// ("listen", "connect").
Endpoint parse_endpoint(std::string_view what, std::string_view text, bool zero);

/// True if the host is this machine's loopback: 127.x.x.x, ::1 or localhost, as written; no name is looked up.
bool is_loopback(const Endpoint& address);

}  // namespace fedstride
