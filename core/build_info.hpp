#pragma once

#include <cstdint>
#include <string>

namespace fedstride {

/// What this program is, for the results: two builds give the same bits only if all of these but the commit agree.
struct BuildInfo {
  std::string version;          ///< "0.1.0"
  std::string commit;           ///< "862b9617bc6c", "862b9617bc6c-dirty" if files had changed since, or "unknown"
  std::string compiler;         ///< "GCC 12.2.0"
  std::string instruction_set;  ///< what the arithmetic was compiled for: "x86-64 AVX-512"
  std::string flags;            ///< of the compiler: "-O3 -DNDEBUG -march=native -ffp-contract=fast"
};
BuildInfo build_info();

/// Goes up by one whenever some configuration gives other results than before; a result is computed anew only if this, its
/// configuration or its data changed.
inline constexpr int kNumericsVersion = 1;

/// The instruction set of the build that this processor lacks, or an empty text.
std::string missing_instructions();

/// Largest amount of memory this process has had, in bytes.
std::uint64_t peak_memory();
/// And what it has now.
std::uint64_t memory_in_use();

}  // namespace fedstride
