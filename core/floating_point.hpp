#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace fedstride {

/// Puts this thread's floating-point unit into the mode that all arithmetic uses (round to nearest, denormals are zero)
/// and restores the earlier mode at the end. Each thread that computes holds one: the mode affects the bits of a result.
class FloatingPointMode {
 public:
#if defined(__SSE__)
  FloatingPointMode() : saved_(_mm_getcsr()) { _mm_setcsr(0x9FC0); }  // FTZ, all exceptions masked, nearest, DAZ
  ~FloatingPointMode() { _mm_setcsr(saved_); }
#else
  FloatingPointMode() = default;
#endif
  FloatingPointMode(const FloatingPointMode&) = delete;
  FloatingPointMode& operator=(const FloatingPointMode&) = delete;

 private:
  [[maybe_unused]] unsigned saved_ = 0;
};

}  // namespace fedstride
