#include "tests/kits/promises.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "tests/support/refusal.hpp"

namespace fedstride::test::promises_test {
namespace {

/// As much of a Chosen part as is asked for.
struct Stub {
  const Stub& family() const { return *this; }
  std::string key() const { return "shape"; }
  std::string name() const { return "square"; }
};

constexpr Promise<Stub> kPromises[] = {
    {"it is kept", [](const Stub&) { return true; }},
    {"it has four corners", [](const Stub&) { return false; }},
    {"it ends", [](const Stub&) -> bool { throw std::runtime_error("no end"); }},
};

}  // namespace

TEST_CASE("a promise that is broken, or whose trial throws, is one line each") {
  const std::vector<std::string> broken = broken_promises<Stub>(Stub{}, kPromises);
  REQUIRE(broken.size() == 2);
  CHECK(names(broken[0], {"shape", "'square'", "it has four corners"}));
  CHECK(names(broken[1], {"shape", "'square'", "it ends", "no end"}));
  CHECK(broken_promises<Stub>(Stub{}, std::span(kPromises).first(1)).empty());
}

}  // namespace fedstride::test::promises_test
