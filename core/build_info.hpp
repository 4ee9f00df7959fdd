#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace fedstride {

/// Identifies this build in the results. Builds of one version, numerics version and arithmetic give the same bits, whatever
/// compiled them and for whatever processor.
struct BuildInfo {
  std::string version;          ///< "0.1.0"
  std::string commit;           ///< "862b9617bc6c", "862b9617bc6c-dirty" if files had changed since, or "unknown"
  std::string compiler;         ///< "GCC 12.2.0"
  std::string instruction_set;  ///< that the arithmetic was compiled for: "x86-64 AVX-512"
  std::string arithmetic;       ///< "fused", or "unfused" without an instruction that rounds a * b + c once
};
BuildInfo build_info();

/// The libraries whose versions may matter to results or their speed: "Eigen 3.4.0, OpenSSL 3.0.17".
std::string library_versions();

/// The day of the environment's SOURCE_DATE_EPOCH (reproducible-builds.org), "2026-11-27"; empty if it is not set. Throws Error (usage)
/// if it is no number of seconds.
std::string source_day();
/// "2026-11-27", UTC; empty for a time without one.
std::string day_text(std::time_t time);

/// Incremented whenever some configuration gives different results, or a setting another default; a result is recomputed only if
/// this number, its configuration or its data changed.
inline constexpr int kNumericsVersion = 9;

/// Returns the build's instruction set if this processor lacks it, else an empty string.
std::string missing_instructions();

/// Peak resident memory of this process, in bytes.
std::uint64_t peak_memory();
/// Current resident memory of this process, in bytes.
std::uint64_t memory_in_use();
/// This machine's, in bytes; 0 if unknown.
std::uint64_t machine_memory();

}  // namespace fedstride
