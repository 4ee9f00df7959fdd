#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace fedstride {

/// The calling thread's floating-point mode, in the processor's encoding; 0 on processors whose mode is left unchanged.
inline std::uint64_t floating_point_mode() {
#if defined(__SSE__)
  return _mm_getcsr();
#elif defined(__aarch64__)
  std::uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
#else
  return 0;
#endif
}

inline void set_floating_point_mode([[maybe_unused]] std::uint64_t mode) {
#if defined(__SSE__)
  _mm_setcsr(static_cast<unsigned>(mode));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(mode));
#endif
}

/// Rounds to nearest and treats denormal arguments and results as zero. (A result that rounds up to 2^-126 is kept on x86 and
/// becomes zero on ARM, which tests before rounding: about one in 2^23 of the numbers just below 2^-126.)
inline constexpr std::uint64_t kFloatingPointMode =
#if defined(__SSE__)
    0x9FC0;  // FTZ, all exceptions masked, nearest, DAZ
#else
    std::uint64_t{1} << 24;  // FZ
#endif
/// The default mode of a process, which keeps denormals.
inline constexpr std::uint64_t kDefaultFloatingPointMode =
#if defined(__SSE__)
    0x1F80;  // all exceptions masked
#else
    0;
#endif

/// Sets this thread's floating-point mode to the one that all arithmetic uses, and restores the previous mode on destruction.
/// Each computing thread holds one of these, because the mode affects the bits of results.
class FloatingPointMode {
 public:
  FloatingPointMode() : saved_(floating_point_mode()) { set_floating_point_mode(kFloatingPointMode); }
  ~FloatingPointMode() { set_floating_point_mode(saved_); }
  FloatingPointMode& operator=(FloatingPointMode&&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace fedstride
