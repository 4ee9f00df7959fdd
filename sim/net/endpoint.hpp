#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fedstride {

/// An address to listen on or connect to.
struct Endpoint {
  std::string host;  ///< a name or an IP address; IPv6 without brackets
  std::uint16_t port = 0;
  std::string text() const;  ///< "127.0.0.1:7000", "[::1]:7000"
};

/// Parses "HOST:PORT" or "[::1]:PORT". Port 0 (any free port) is valid only if `zero` is true. Throws Error (usage) that names
/// `what` ("listen", "connect").
Endpoint parse_endpoint(std::string_view what, std::string_view text, bool zero);

/// True if the host is written as a loopback address: 127.x.x.x, ::1 or localhost. Does not resolve names.
bool is_loopback(const Endpoint& address);

}  // namespace fedstride
