#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace fedstride {

/// This thread's floating-point control word: MXCSR on x86, FPCR on ARM, 0 elsewhere.
inline std::uint64_t floating_point_control() {
#if defined(__SSE__)
  return _mm_getcsr();
#elif defined(__aarch64__)
  std::uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
#else
  return 0;
#endif
}

inline void set_floating_point_control([[maybe_unused]] std::uint64_t control) {
#if defined(__SSE__)
  _mm_setcsr(static_cast<unsigned>(control));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(control) : "memory");
#endif
}

#if defined(__SSE__)
inline constexpr std::uint64_t kDefaultControl = 0x1F80;  // exceptions masked, nearest
inline constexpr std::uint64_t kArithmetic = 0x9FC0;      // and FTZ, DAZ
#else
// ARM flushes what is tiny before rounding, x86 what is tiny after it: they differ for results that round up to 2^-126 exactly.
inline constexpr std::uint64_t kDefaultControl = 0;
inline constexpr std::uint64_t kArithmetic = std::uint64_t{1} << 24;  // FZ, nearest
#endif

/// Puts this thread's floating-point unit into the mode that all arithmetic uses (round to nearest, denormals are zero)
/// and restores the earlier mode at the end. Each thread that computes holds one: the mode affects the bits of a result.
class FloatingPointMode {
 public:
  FloatingPointMode() : saved_(floating_point_control()) { set_floating_point_control(kArithmetic); }
  ~FloatingPointMode() { set_floating_point_control(saved_); }
  FloatingPointMode(const FloatingPointMode&) = delete;
  FloatingPointMode& operator=(const FloatingPointMode&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace fedstride
