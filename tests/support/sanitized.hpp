#pragma once

#include <cstddef>
#include <cstdlib>

extern "C" void __asan_init() __attribute__((weak));  // NOLINT: AddressSanitizer's name

namespace fedstride::test {

/// True if this program is linked with sanitizers; the tests' own code is the same in both.
inline bool is_sanitized() { return __asan_init != nullptr; }

/// Of many cases that differ in a word or a draw, a test runs every so many with sanitizers, where each takes ten times as
/// long; the program without them runs all.
inline const std::size_t kOneOf = is_sanitized() ? 11 : 1;

/// True under ./run-tests --all: where a tenth of the draws shows the same faults with less certainty, the whole is for then.
inline bool every_check() { return std::getenv("FEDSTRIDE_EVERY_CHECK") != nullptr && !is_sanitized(); }

}  // namespace fedstride::test
