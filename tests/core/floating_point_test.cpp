#include "core/floating_point.hpp"

#include <doctest/doctest.h>

#include <cfenv>
#include <limits>
#include <thread>

namespace fedstride::test::floating_point_test {
namespace {

#if defined(__SSE__) || defined(__aarch64__)

#if defined(__SSE__)
constexpr std::uint64_t kRounding = 0x6000, kUpwards = 0x4000;
#else
constexpr std::uint64_t kRounding = 0xC00000, kUpwards = 0x400000;
#endif

// Out of line and through volatiles: the processor computes, not the compiler, and at the place of the call.
[[gnu::noinline]] float product(float a, float b) {
  volatile float left = a;
  volatile float right = b;
  return left * right;
}
[[gnu::noinline]] float sum(float a, float b) {
  volatile float left = a;
  volatile float right = b;
  return left + right;
}

constexpr float kSmallest = std::numeric_limits<float>::min();

TEST_CASE("denormal results and arguments are zero in the mode, and only there") {
  const float denormal = kSmallest / 4;
  CHECK(product(kSmallest, 0.5F) > 0);
  {
    const FloatingPointMode mode;
    CHECK(product(kSmallest, 0.5F) == 0);
    CHECK(product(denormal, 1e30F) == 0);
    CHECK(product(kSmallest, 2.0F) > 0);
  }
  CHECK(product(kSmallest, 0.5F) > 0);
  CHECK(product(denormal, 1e30F) > 0);
}

TEST_CASE("the mode rounds to nearest, whatever was set before, and puts that back") {
  const std::uint64_t before = floating_point_mode();
  set_floating_point_mode((before & ~kRounding) | kUpwards);  // towards plus infinity
  CHECK(sum(1.0F, 0x1p-30F) > 1.0F);
  {
    const FloatingPointMode mode;
    CHECK(sum(1.0F, 0x1p-30F) == 1.0F);
  }
  CHECK(sum(1.0F, 0x1p-30F) > 1.0F);
  set_floating_point_mode(before);
}

TEST_CASE("the mode is that of one thread") {
  const FloatingPointMode mode;
  bool kept_elsewhere = false;
  bool kept_elsewhere_in_mode = true;
  std::thread([&] {
    set_floating_point_mode(
        kDefaultFloatingPointMode);  // a thread starts with its parent's mode here; this is the processor's own
    kept_elsewhere = product(kSmallest, 0.5F) > 0;
    const FloatingPointMode inner;
    kept_elsewhere_in_mode = product(kSmallest, 0.5F) > 0;
  }).join();
  CHECK(kept_elsewhere);
  CHECK_FALSE(kept_elsewhere_in_mode);
  CHECK(product(kSmallest, 0.5F) == 0);
}

#endif

}  // namespace
}  // namespace fedstride::test::floating_point_test
