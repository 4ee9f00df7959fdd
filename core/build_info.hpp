#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fedstride {

/// Identifies this build in the results: two builds give the same bits only if all of these but the commit agree.
struct BuildInfo {
  std::string version;          ///< "0.1.0"
  std::string commit;           ///< "862b9617bc6c", "862b9617bc6c-dirty" if files had changed since, or "unknown"
  std::string compiler;         ///< "GCC 12.2.0"
  std::string instruction_set;  ///< that the arithmetic was compiled for: "x86-64 AVX-512"
  std::string instructions;     ///< all of it, in words and in order: "avx avx2 f16c fma sse ... tune=znver3 x86-64"
  std::string flags;            ///< compiler flags: "-O3 -DNDEBUG -march=native -ffp-contract=fast"
};
BuildInfo build_info();

/// A macro that a compiler defines if it may use an instruction set extension or tunes for a processor.
struct InstructionMacro {
  std::string_view name;  ///< "__AVX2__"
  bool is_set = false;    ///< in this build
};
/// The macros that can affect the bits of floating-point results. Tuning is included: for some processors GCC fuses fewer
/// products into sums, with the same instructions.
std::span<const InstructionMacro> instruction_macros();

/// The flags without those that only select instructions (-march, -mtune, -mavx2, ...); `instructions` says what they selected.
std::string flags_but_instructions(std::string_view flags);

/// Incremented whenever some configuration gives different results; a result is recomputed only if this number, its
/// configuration or its data changed.
inline constexpr int kNumericsVersion = 6;

/// Returns the build's instruction set if this processor lacks it, else an empty string.
std::string missing_instructions();

/// Peak resident memory of this process, in bytes.
std::uint64_t peak_memory();
/// Current resident memory of this process, in bytes.
std::uint64_t memory_in_use();

}  // namespace fedstride
