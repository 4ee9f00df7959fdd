#include "sim/net/endpoint.hpp"

#include <arpa/inet.h>

#include "core/error.hpp"
#include "core/text.hpp"

namespace fedstride {

std::string Endpoint::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Endpoint parse_endpoint(std::string_view what, std::string_view text, bool zero) {
  const auto wrong = [&] {
    return usage_error(std::string(what) + " is '" + std::string(text) + "'; it must be HOST:PORT with a port from " +
                       (zero ? "0 (any free port)" : "1") + " to 65535, for example 127.0.0.1:7000 or [::1]:7000");
  };
  const auto colon = text.rfind(':');
  if (colon == text.npos || colon == 0) throw wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.front() == '[') {
    if (host.size() < 3 || host.back() != ']') throw wrong();
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != host.npos) {
    throw wrong();
  }
  if (host.find_first_of(" \t\r\n/[]") != host.npos || host.size() > 253) throw wrong();
  std::uint16_t port = 0;
  if (!parse_number(digits, port) || (port == 0 && !zero)) throw wrong();
  return {std::string(host), port};
}

bool is_loopback(const Endpoint& address) {
  if (address.host == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, address.host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, address.host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace fedstride
