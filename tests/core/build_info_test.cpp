#include "core/build_info.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <set>

#include "core/text.hpp"

namespace fedstride::test::build_info_test {
namespace {

/// The macros with value 1 that the installed compiler defines with these flags; empty if there is none, or it refuses them.
std::set<std::string> macros_with(const std::string& flags) {
  const std::string command = "c++ " + flags + " -dM -E -x c++ /dev/null 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::set<std::string> names;
  std::array<char, 4096> line{};
  while (pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const auto words = split(trimmed(line.data()), ' ');
    if (words.size() == 3 && words[2] == "1") names.emplace(words[1]);
  }
  return names;
}

/// Extensions that compute with no floating-point number, and names of processors without what they can do.
bool leaves_arithmetic_alone(const std::string& macro) {
  static const std::set<std::string> kOthers{
      "__ABM__",       "__ADX__",         "__AES__",        "__BMI2__",      "__BMI__",      "__CLDEMOTE__", "__CLFLUSHOPT__",
      "__CLWB__",      "__CLZERO__",      "__CRC32__",      "__ENQCMD__",    "__FSGSBASE__", "__FXSR__",     "__GFNI__",
      "__HRESET__",    "__INVPCID__",     "__KL__",         "__LAHF_SAHF__", "__LWP__",      "__LZCNT__",    "__MOVBE__",
      "__MOVDIR64B__", "__MOVDIRI__",     "__MWAITX__",     "__PCLMUL__",    "__PCONFIG__",  "__PKU__",      "__POPCNT__",
      "__PREFETCHI__", "__PREFETCHWT1__", "__PRFCHW__",     "__PTWRITE__",   "__RDPID__",    "__RDPRU__",    "__RDRND__",
      "__RDSEED__",    "__SERIALIZE__",   "__SGX__",        "__SHA__",       "__SHSTK__",    "__TBM__",      "__TSXLDTRK__",
      "__UINTR__",     "__VAES__",        "__VPCLMULQDQ__", "__WAITPKG__",   "__WBNOINVD__", "__WIDEKL__",   "__XSAVEC__",
      "__XSAVEOPT__",  "__XSAVES__",      "__XSAVE__",      "__EVEX256__",   "__EVEX512__"};
  return kOthers.contains(macro) || macro.starts_with("__FP_FAST_FMA") || macro.starts_with("__GCC_HAVE_SYNC_COMPARE") ||
         macro.starts_with("__GCC_ATOMIC");
}

}  // namespace

TEST_CASE("no extension of the instruction set that arithmetic may use is unknown, for any processor the compiler knows") {
  const std::set<std::string> everywhere = macros_with("-march=x86-64 -mtune=generic");
  if (everywhere.empty()) {
    MESSAGE("no compiler for x86-64 here");
    return;
  }
  std::set<std::string> known;
  for (const InstructionMacro& macro : instruction_macros()) known.emplace(macro.name);
  std::set<std::set<std::string>> different;
  for (const std::string processor :
       {"x86-64-v2", "x86-64-v3",      "x86-64-v4",      "core2",       "nehalem",    "sandybridge",
        "haswell",   "skylake",        "skylake-avx512", "cascadelake", "cooperlake", "icelake-server",
        "tigerlake", "sapphirerapids", "alderlake",      "knl",         "knm",        "bdver4",
        "znver1",    "znver2",         "znver3",         "znver4",      "native"}) {
    CAPTURE(processor);
    std::set<std::string> arithmetic;
    const std::set<std::string> macros = macros_with("-march=" + processor);
    for (const std::string& macro : macros) {
      const std::string name = macro.starts_with("__") && macro.ends_with("__") ? macro.substr(2, macro.size() - 4) : "";
      const bool is_a_name = macro == "__" + name + "__" && macros.contains("__" + name);
      if (everywhere.contains(macro) || leaves_arithmetic_alone(macro) || is_a_name || name.empty()) continue;
      CHECK_MESSAGE(known.contains(macro), macro);
      arithmetic.insert(macro);
    }
    different.insert(arithmetic);
  }
  CHECK(different.size() > 10);  // they are told apart
}

TEST_CASE("what this build uses is listed in order, and is what its compiler was told") {
  const std::string instructions = build_info().instructions;
  const auto words = split(instructions, ' ');
  CHECK(std::ranges::is_sorted(words));
  CHECK(std::ranges::adjacent_find(words) == words.end());
#if defined(__AVX2__)
  CHECK(std::ranges::find(words, "avx2") != words.end());
#else
  CHECK(std::ranges::find(words, "avx2") == words.end());
#endif
#if defined(__SSE4_1__)
  CHECK(std::ranges::find(words, "sse4.1") != words.end());
#endif
#if defined(__tune_znver3__)
  CHECK(std::ranges::find(words, "tune=znver3") != words.end());
#endif
}

TEST_CASE("flags that choose instructions are left out of the flags, others are not") {
  CHECK(flags_but_instructions("-O3  -march=native -DNDEBUG -mtune=znver3 -mavx2 -mno-fma -msse4.1 -ffp-contract=fast") ==
        "-O3 -DNDEBUG -ffp-contract=fast");
  CHECK(flags_but_instructions("-mfpmath=387 -mmove-max=128 -ffast-math") == "-mfpmath=387 -mmove-max=128 -ffast-math");
  CHECK(flags_but_instructions("").empty());
}

}  // namespace fedstride::test::build_info_test
