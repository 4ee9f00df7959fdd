#include <doctest/doctest.h>

#include "sim/net/endpoint.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::endpoint_test {
namespace {

bool loopback(std::string_view text) { return is_loopback(parse_endpoint("listen", text, false)); }

}  // namespace

TEST_CASE("An endpoint is a host and a port, and prints as it was written") {
  for (const std::string text : {"127.0.0.1:7000", "localhost:1", "node-3.example.org:65535", "[::1]:7000", "[fe80::1%eth0]:80",
                                 "0.0.0.0:7000", "[::]:7000"}) {
    CAPTURE(text);
    CHECK(parse_endpoint("connect", text, false).text() == text);
  }
  const Endpoint six = parse_endpoint("connect", "[2001:db8::7]:443", false);
  CHECK(six.host == "2001:db8::7");
  CHECK(six.port == 443);
  CHECK(parse_endpoint("connect", "host:0080", false).port == 80);
}

TEST_CASE("Port 0 means any free port where that makes sense, and is refused elsewhere") {
  CHECK(parse_endpoint("listen", "127.0.0.1:0", true).port == 0);
  CHECK_USAGE_ERROR(parse_endpoint("listen", "127.0.0.1:0", false), "listen", "'127.0.0.1:0'", "HOST:PORT", "1", "65535");
  const auto refusal = [](bool zero) {
    return error_of_kind(Error::Kind::usage, [&] { parse_endpoint("listen", "[::1]:x", zero); });
  };
  CHECK(names(refusal(true), {"listen", "'[::1]:x'", "HOST:PORT", "0", "65535"}));
  CHECK(refusal(true) != refusal(false));
}

TEST_CASE("Anything but HOST:PORT is refused in one line that repeats it") {
  for (const std::string text : {"",
                                 ":",
                                 "7000",
                                 "localhost",
                                 "localhost:",
                                 ":7000",
                                 "localhost:65536",
                                 "localhost:99999999999999999999",
                                 "localhost:-1",
                                 "localhost:+1",
                                 "localhost: 80",
                                 "localhost:80 ",
                                 "localhost:8o",
                                 "local host:80",
                                 " localhost:80",
                                 "a/b:80",
                                 "a\tb:80",
                                 "::1:7000",
                                 "::1",
                                 "[::1]",
                                 "[::1]:",
                                 "[]:80",
                                 "[:80",
                                 "[::1:80",
                                 "::1]:80",
                                 "[[::1]]:80",
                                 "[::1]x:80",
                                 "tcp://localhost:80"}) {
    CAPTURE(text);
    CHECK_USAGE_ERROR(parse_endpoint("listen", text, false), "listen", "'" + text + "'", "HOST:PORT");
  }
  CHECK_USAGE_ERROR(parse_endpoint("listen", std::string(254, 'a') + ":80", false), "listen");
  CHECK_NOTHROW(parse_endpoint("listen", std::string(253, 'a') + ":80", false));
}

TEST_CASE("Loopback addresses are recognized as written; no name is resolved") {
  for (const char* text : {"127.0.0.1:1", "127.255.3.4:1", "localhost:1", "[::1]:1", "[0:0:0:0:0:0:0:1]:1"}) {
    CAPTURE(text);
    CHECK(loopback(text));
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "128.0.0.1:1", "10.0.0.1:1", "127.0.0.1.example.org:1",
                           "localhost.example.org:1", "127.1:1", "[::2]:1", "[::ffff:10.0.0.1]:1", "ip6-localhost:1"}) {
    CAPTURE(text);
    CHECK_FALSE(loopback(text));
  }
}

}  // namespace fedstride::test::endpoint_test
