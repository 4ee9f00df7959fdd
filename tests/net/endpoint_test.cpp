#include <doctest/doctest.h>

#include "core/error.hpp"
#include "net/endpoint.hpp"

namespace fedstride::test::endpoint_test {
namespace {

/// The message for an endpoint that is refused; empty if it is not.
std::string refusal(std::string_view text, bool zero = false) {
  try {
    parse_endpoint("listen", text, zero);
  } catch (const Error& error) {
    CHECK(error.exit_code() == 2);
    return error.what();
  }
  return {};
}

bool loopback(std::string_view text) { return is_loopback(parse_endpoint("listen", text, false)); }

}  // namespace

TEST_CASE("An endpoint is a host and a port, and says so again") {
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

TEST_CASE("Port 0 is any free one where that makes sense, and refused elsewhere") {
  CHECK(parse_endpoint("listen", "127.0.0.1:0", true).port == 0);
  CHECK(refusal("127.0.0.1:0") ==
        "listen is '127.0.0.1:0'; it must be HOST:PORT with a port from 1 to 65535, as in "
        "127.0.0.1:7000 or [::1]:7000");
  CHECK(refusal("127.0.0.1:x", true).find("a port from 0 (any that is free) to 65535") != std::string::npos);
}

TEST_CASE("What is not HOST:PORT is refused in one line that repeats it") {
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
    const std::string said = refusal(text);
    CHECK(said.starts_with("listen is '" + text + "'; it must be HOST:PORT"));
  }
  CHECK_FALSE(refusal(std::string(254, 'a') + ":80").empty());
  CHECK(refusal(std::string(253, 'a') + ":80").empty());
}

TEST_CASE("Loopback is what is written as such; nothing is looked up") {
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
