#include "core/build_info.hpp"

#include <sys/resource.h>
#include <unistd.h>
#include <commit.hpp>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <vector>

#include "core/text.hpp"

namespace fedstride {
namespace {

// The text of a macro's value is its own name where it is not defined.
#define FEDSTRIDE_VALUE_TEXT(value) #value
#define FEDSTRIDE_MACRO(name) \
  InstructionMacro { #name, std::string_view(FEDSTRIDE_VALUE_TEXT(name)) != #name }
constexpr InstructionMacro kInstructionMacros[] = {
    FEDSTRIDE_MACRO(__SSE__),
    FEDSTRIDE_MACRO(__SSE2__),
    FEDSTRIDE_MACRO(__SSE3__),
    FEDSTRIDE_MACRO(__SSSE3__),
    FEDSTRIDE_MACRO(__SSE4_1__),
    FEDSTRIDE_MACRO(__SSE4_2__),
    FEDSTRIDE_MACRO(__SSE4A__),
    FEDSTRIDE_MACRO(__FMA4__),
    FEDSTRIDE_MACRO(__XOP__),
    FEDSTRIDE_MACRO(__AVX__),
    FEDSTRIDE_MACRO(__AVX2__),
    FEDSTRIDE_MACRO(__FMA__),
    FEDSTRIDE_MACRO(__F16C__),
    FEDSTRIDE_MACRO(__AVXVNNI__),
    FEDSTRIDE_MACRO(__AVXIFMA__),
    FEDSTRIDE_MACRO(__AVXVNNIINT8__),
    FEDSTRIDE_MACRO(__AVXNECONVERT__),
    FEDSTRIDE_MACRO(__AVX512F__),
    FEDSTRIDE_MACRO(__AVX512CD__),
    FEDSTRIDE_MACRO(__AVX512ER__),
    FEDSTRIDE_MACRO(__AVX512PF__),
    FEDSTRIDE_MACRO(__AVX512BW__),
    FEDSTRIDE_MACRO(__AVX512DQ__),
    FEDSTRIDE_MACRO(__AVX512VL__),
    FEDSTRIDE_MACRO(__AVX512IFMA__),
    FEDSTRIDE_MACRO(__AVX512VBMI__),
    FEDSTRIDE_MACRO(__AVX512VBMI2__),
    FEDSTRIDE_MACRO(__AVX512VNNI__),
    FEDSTRIDE_MACRO(__AVX512BITALG__),
    FEDSTRIDE_MACRO(__AVX512VPOPCNTDQ__),
    FEDSTRIDE_MACRO(__AVX512VP2INTERSECT__),
    FEDSTRIDE_MACRO(__AVX5124FMAPS__),
    FEDSTRIDE_MACRO(__AVX5124VNNIW__),
    FEDSTRIDE_MACRO(__AVX512BF16__),
    FEDSTRIDE_MACRO(__AVX512FP16__),
    FEDSTRIDE_MACRO(__AMX_TILE__),
    FEDSTRIDE_MACRO(__AMX_INT8__),
    FEDSTRIDE_MACRO(__AMX_BF16__),
    FEDSTRIDE_MACRO(__AMX_FP16__),
    FEDSTRIDE_MACRO(__tune_alderlake__),
    FEDSTRIDE_MACRO(__tune_amdfam10__),
    FEDSTRIDE_MACRO(__tune_atom__),
    FEDSTRIDE_MACRO(__tune_bdver1__),
    FEDSTRIDE_MACRO(__tune_bdver2__),
    FEDSTRIDE_MACRO(__tune_bdver3__),
    FEDSTRIDE_MACRO(__tune_bdver4__),
    FEDSTRIDE_MACRO(__tune_bonnell__),
    FEDSTRIDE_MACRO(__tune_btver1__),
    FEDSTRIDE_MACRO(__tune_btver2__),
    FEDSTRIDE_MACRO(__tune_cannonlake__),
    FEDSTRIDE_MACRO(__tune_cascadelake__),
    FEDSTRIDE_MACRO(__tune_cooperlake__),
    FEDSTRIDE_MACRO(__tune_core2__),
    FEDSTRIDE_MACRO(__tune_core_avx2__),
    FEDSTRIDE_MACRO(__tune_corei7__),
    FEDSTRIDE_MACRO(__tune_corei7_avx__),
    FEDSTRIDE_MACRO(__tune_goldmont__),
    FEDSTRIDE_MACRO(__tune_goldmont_plus__),
    FEDSTRIDE_MACRO(__tune_haswell__),
    FEDSTRIDE_MACRO(__tune_icelake_client__),
    FEDSTRIDE_MACRO(__tune_icelake_server__),
    FEDSTRIDE_MACRO(__tune_k8__),
    FEDSTRIDE_MACRO(__tune_knl__),
    FEDSTRIDE_MACRO(__tune_knm__),
    FEDSTRIDE_MACRO(__tune_nehalem__),
    FEDSTRIDE_MACRO(__tune_nocona__),
    FEDSTRIDE_MACRO(__tune_rocketlake__),
    FEDSTRIDE_MACRO(__tune_sandybridge__),
    FEDSTRIDE_MACRO(__tune_sapphirerapids__),
    FEDSTRIDE_MACRO(__tune_silvermont__),
    FEDSTRIDE_MACRO(__tune_skylake__),
    FEDSTRIDE_MACRO(__tune_skylake_avx512__),
    FEDSTRIDE_MACRO(__tune_slm__),
    FEDSTRIDE_MACRO(__tune_tigerlake__),
    FEDSTRIDE_MACRO(__tune_tremont__),
    FEDSTRIDE_MACRO(__tune_znver1__),
    FEDSTRIDE_MACRO(__tune_znver2__),
    FEDSTRIDE_MACRO(__tune_znver3__),
    FEDSTRIDE_MACRO(__tune_znver4__),
    FEDSTRIDE_MACRO(__tune_znver5__),
};
#undef FEDSTRIDE_MACRO
#undef FEDSTRIDE_VALUE_TEXT

/// "__SSE4_1__": "sse4.1", as in the flag -msse4.1; "__tune_znver3__": "tune=znver3".
std::string word_of(std::string_view macro) {
  std::string word(macro.substr(2, macro.size() - 4));
  constexpr std::string_view kTune = "tune_";
  if (word.starts_with(kTune)) return "tune=" + word.substr(kTune.size());
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return c == '_' ? '.' : static_cast<char>(std::tolower(c)); });
  return word;
}

std::string instructions_in_use() {
  std::vector<std::string> words;
  for (const InstructionMacro& macro : kInstructionMacros)
    if (macro.is_set) words.push_back(word_of(macro.name));
#if defined(__x86_64__)
  words.emplace_back("x86-64");
#elif defined(__aarch64__)
  words.emplace_back("aarch64");
#endif
  std::ranges::sort(words);
  return joined(words, " ");
}

bool chooses_instructions(std::string_view flag) {
  for (const std::string_view choice : {"-march=", "-mtune=", "-mcpu="})
    if (flag.starts_with(choice)) return true;
  if (!flag.starts_with("-m")) return false;
  flag.remove_prefix(2);
  if (flag.starts_with("no-")) flag.remove_prefix(3);
  return std::ranges::any_of(kInstructionMacros, [&](const InstructionMacro& macro) { return word_of(macro.name) == flag; });
}

}  // namespace

std::span<const InstructionMacro> instruction_macros() { return kInstructionMacros; }

std::string flags_but_instructions(std::string_view flags) {
  std::vector<std::string> kept;
  for (const std::string_view flag : split(flags, ' '))
    if (!flag.empty() && !chooses_instructions(flag)) kept.emplace_back(flag);
  return joined(kept, " ");
}

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
  info.instructions = instructions_in_use();
  info.flags = FEDSTRIDE_FLAGS;
  return info;
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
  std::ifstream file("/proc/self/statm");  // in pages: all, resident, ...
  std::uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace fedstride
