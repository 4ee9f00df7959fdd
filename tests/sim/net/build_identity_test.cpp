#include <doctest/doctest.h>

#include "core/build_info.hpp"
#include "sim/net/messages.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::build_identity_test {
namespace {

BuildIdentity built_with(const std::string& flags, const std::string& instructions) {
  return {
      .version = "1", .compiler = "GCC", .flags = flags_but_instructions(flags), .instruction_set = instructions, .numerics = 1};
}

}  // namespace

TEST_CASE("two processors under -march=native are distinguished, and the difference is named") {
  const BuildIdentity here = built_with("-O3 -march=native", "avx avx2 fma tune=znver3 x86-64");
  const BuildIdentity there = built_with("-O3 -march=native", "avx avx2 avx512f fma tune=skylake_avx512 x86-64");
  CHECK(names(difference(here, there), {"instructions", "'tune=znver3'", "'avx512f tune=skylake_avx512'"}));
  CHECK(difference(here, here).empty());
}

TEST_CASE("the same instructions are the same build regardless of the flags that selected them; other flags are not") {
  const std::string instructions = "avx avx2 fma tune=haswell x86-64";
  const BuildIdentity native = built_with("-O3 -march=native -ffp-contract=fast", instructions);
  CHECK(difference(native, built_with("-O3 -march=haswell -ffp-contract=fast", instructions)).empty());
  CHECK(difference(native, built_with("-O3 -march=x86-64-v3 -mtune=haswell -ffp-contract=fast", instructions)).empty());
  CHECK(names(difference(native, built_with("-O3 -march=native -ffp-contract=off", instructions)),
              {"flags", "'-O3 -ffp-contract=fast'", "'-O3 -ffp-contract=off'"}));
}

TEST_CASE("a build reports the instructions it uses, not the flags that selected them") {
  CHECK(build_identity().instruction_set == build_info().instructions);
  CHECK(build_identity().flags.find("-march") == std::string::npos);
  CHECK(build_identity().flags.find("-ffp-contract") != std::string::npos);
}

}  // namespace fedstride::test::build_identity_test
