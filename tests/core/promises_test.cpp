#include "core/promises.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

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
  CHECK(broken_promises<Stub>(Stub{}, kPromises) == std::vector<std::string>{"shape 'square' does not keep: it has four corners",
                                                                             "shape 'square' does not keep: it ends (no end)"});
  CHECK(broken_promises<Stub>(Stub{}, std::span(kPromises).first(1)).empty());
}

}  // namespace fedstride::test::promises_test
