#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace fedstride {

/// Identifies this build in the results. Builds of one version, numerics version and arithmetic give the same bits with any
/// compiler and on any processor.
struct BuildInfo {
  std::string version;          ///< "0.1.0"
  std::string commit;           ///< "862b9617bc6c", "862b9617bc6c-dirty" if files have changed since, or "unknown"
  std::string compiler;         ///< "GCC 12.2.0"
  std::string instruction_set;  ///< the target of the compiled arithmetic: "x86-64 AVX-512"
  std::string arithmetic;       ///< "fused", or "unfused" without an instruction that rounds a * b + c once
};
BuildInfo build_info();

/// The libraries whose versions may matter to results or their speed: "Eigen 3.4.0, OpenSSL 3.0.17".
std::string library_versions();

/// The date in SOURCE_DATE_EPOCH (reproducible-builds.org), "2026-11-27"; empty if the variable is not set. Throws Error (usage)
/// if it is not a number of seconds.
std::string source_day();
/// "2026-11-27", UTC; empty for a time that has no date.
std::string day_text(std::time_t time);

/// Incremented whenever some configuration gives different results or a setting gets a new default. A result is recomputed only
/// if this number, its configuration or its data has changed.
inline constexpr int kNumericsVersion = 9;

/// Returns the build's instruction set if this processor lacks it, otherwise an empty string.
std::string missing_instructions();

/// Peak resident memory of this process, in bytes.
std::uint64_t peak_memory();
/// Current resident memory of this process, in bytes.
std::uint64_t memory_in_use();
/// Memory of this machine, in bytes; 0 if unknown.
std::uint64_t machine_memory();

}  // namespace fedstride
