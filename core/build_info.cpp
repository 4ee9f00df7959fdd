#include "core/build_info.hpp"

#include <openssl/crypto.h>
#include <sys/resource.h>
#include <unistd.h>
#include <commit.hpp>

#include <Eigen/src/Core/util/Macros.h>
#include <cfloat>
#include <fstream>

#include "core/simd.hpp"

#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#error "results need IEEE 754 arithmetic: build without -ffast-math, and not for the x87 FPU"
#endif

namespace fedstride {
BuildInfo build_info() {
  BuildInfo info;
  info.version = FEDSTRIDE_VERSION;
  info.commit = FEDSTRIDE_COMMIT;
#if defined(__clang__)
  info.compiler = "Clang " __clang_version__;
#else
  info.compiler = "GCC " __VERSION__;
#endif
#if defined(__AVX512F__)
  info.instruction_set = "x86-64 AVX-512";
#elif defined(__AVX2__) && defined(__FMA__)
  info.instruction_set = "x86-64 AVX2 FMA";
#elif defined(__AVX__)
  info.instruction_set = "x86-64 AVX";
#elif defined(__x86_64__)
  info.instruction_set = "x86-64 SSE";
#elif defined(__aarch64__)
  info.instruction_set = "ARMv8 NEON";
#else
  info.instruction_set = "other";
#endif
  info.arithmetic = kFused ? "fused" : "unfused";
  return info;
}

std::string library_versions() {
  return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION) + ", OpenSSL " + OpenSSL_version(OPENSSL_VERSION_STRING);
}

std::string missing_instructions() {
#if defined(__AVX512F__)
  if (!__builtin_cpu_supports("avx512f")) return "AVX-512";
#endif
#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    return "AVX-512 BW, DQ and VL";
#endif
#if defined(__AVX2__)
  if (!__builtin_cpu_supports("avx2")) return "AVX2";
#endif
#if defined(__FMA__) && defined(__x86_64__)
  if (!__builtin_cpu_supports("fma")) return "FMA";
#endif
  return {};
}

std::uint64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::uint64_t memory_in_use() {
  std::ifstream file("/proc/self/statm");  // in pages: total, resident, ...
  std::uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
}

}  // namespace fedstride
