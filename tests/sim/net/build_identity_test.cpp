#include <doctest/doctest.h>

#include "core/build_info.hpp"
#include "sim/net/messages.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::build_identity_test {

TEST_CASE("builds are told apart by what changes results, and the difference is named") {
  const BuildIdentity here{.version = "1", .arithmetic = "fused", .numerics = 7};
  CHECK(difference(here, here).empty());
  BuildIdentity there = here;
  there.arithmetic = "unfused";
  CHECK(names(difference(here, there), {"arithmetic", "'fused'", "'unfused'"}));
  there.numerics = 6;
  CHECK(names(difference(here, there), {"numerics version", "'7'", "'6'"}));
  there.version = "2";
  CHECK(names(difference(here, there), {"version", "'1'", "'2'"}));
}

TEST_CASE("a build reports its own") {
  CHECK(build_identity().version == build_info().version);
  CHECK(build_identity().arithmetic == build_info().arithmetic);
  CHECK(build_identity().numerics == kNumericsVersion);
}

}  // namespace fedstride::test::build_identity_test
