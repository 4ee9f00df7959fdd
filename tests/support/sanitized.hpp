#pragma once

#include <cstddef>

namespace fedstride::test {

/// Of many cases that differ in a word or a draw, a test runs every so many with sanitizers, where each takes ten times as
/// long; the release build runs all.
#ifdef __SANITIZE_ADDRESS__
inline constexpr std::size_t kOneOf = 11;
#else
inline constexpr std::size_t kOneOf = 1;
#endif

}  // namespace fedstride::test
