#pragma once

#include <cstdint>
#include <string>

namespace fedstride {

/// Identifies this build in the results. Builds with the same version, numerics version and arithmetic produce the same bits with
/// any compiler, on any processor.
struct BuildInfo {
  std::string version;          ///< "0.1.0"
  std::string commit;           ///< "862b9617bc6c", "862b9617bc6c-dirty" with uncommitted changes, or "unknown"
  std::string compiler;         ///< "GCC 12.2.0"
  std::string instruction_set;  ///< the compiler's target: "x86-64 AVX-512"
  std::string arithmetic;       ///< "fused" if a * b + c is rounded once, otherwise "unfused"
};
BuildInfo build_info();

/// The versions of the libraries that may affect results or speed: "Eigen 3.4.0, OpenSSL 3.0.17".
std::string library_versions();

/// Incremented whenever the results of any configuration or the default of any setting changes. A result is recomputed only if
/// this number, its configuration or its data has changed. What changes private runs alone leaves the number of all others as it is
/// (numerics_version, sim/settings/configuration.hpp).
inline constexpr int kNumericsVersion = 12;
inline constexpr int kOpenNumericsVersion = 11;
/// Seeds private draws, together with settings, data and partition. Raised whenever these then give other releases, whose noise must
/// be fresh, but not if only a default changes.
inline constexpr int kDrawsVersion = 10;

/// Returns an instruction set that this build uses and this processor lacks, or an empty string if there is none.
std::string missing_instructions();

/// Peak resident memory of this process, in bytes.
std::uint64_t peak_memory();
/// Current resident memory of this process, in bytes.
std::uint64_t memory_in_use();
/// Memory of this machine, in bytes; 0 if unknown.
std::uint64_t machine_memory();

}  // namespace fedstride
