#include <doctest/doctest.h>

#include <vector>

#include "tests/cli/refusal.hpp"

namespace fedstride::test::private_bad_input_test {

TEST_CASE("privacy that cannot be had is refused in one line, and no file is made") {
  const TemporaryFolder folder;
  const std::vector<Refusal> rows{
      {{"--dp", "exmaple"}, 2, {"dp", "exmaple", "example", "none", "client", "both"}},
      {{"--dp", "example"}, 2, {"epsilon", "0", "noise-multiplier"}},
      {{"--dp", "both", "--noise-multiplier", "1"}, 2, {"client-noise-multiplier", "0"}},
      {{"--dp", "example", "--noise-multiplier", "-1"}, 2, {"noise-multiplier", "-1", "0"}},
      {{"--dp", "example", "--noise-multiplier", "nan"}, 2, {"noise-multiplier", "nan", "0"}},
      {{"--dp", "example", "--noise-multiplier", "1", "--clip", "0"}, 2, {"clip", "0"}},
      {{"--dp", "example", "--noise-multiplier", "1", "--delta", "0"}, 2, {"delta", "0"}},
      {{"--dp", "example", "--noise-multiplier", "1", "--delta", "1"}, 2, {"delta", "1", "0"}},
      {{"--dp", "client", "--epsilon", "-1"}, 2, {"epsilon", "-1", "0"}},
      {{"--dp", "client", "--epsilon", "1e-9", "--delta", "1e-12"}, 2, {"epsilon"}},
      {{"--noise-multiplier", "1"}, 2, {"noise-multiplier", "dp", "none"}},
      {{"--dp", "client", "--noise-multiplier", "1", "--sampling", "shuffle"}, 2, {"sampling", "dp", "client"}},
      {{"--dp", "example", "--noise-multiplier", "1", "--sampling", "without-replacement"}, 2, {"replace-one"}},
      {{"--dp", "example", "--noise-multiplier", "1", "--accountant", "zcdp"}, 2, {"zcdp"}},
      {{"--dp", "example", "--noise-multiplier", "1", "--accountant", "rpd"}, 2, {"accountant", "rpd", "auto", "tight"}},
      {{"--dp", "example", "--noise-multiplier", "1", "--sampling-rate", "1.5"}, 2, {"sampling-rate", "1.5", "0", "1"}},
      {{"--dp", "example", "--noise-multiplier", "1", "--private-components", "2", "--components-noise", "1"},
       2,
       {"clients", "3"}},
      {{"--cohort", "poison"}, 2, {"cohort", "poison", "poisson"}},
      {{"--cohort", "poisson", "--cohort-rate", "0"}, 2, {"cohort-rate", "0"}},
      {{"--cohort", "fixed", "--cohort-size", "0"}, 2, {"cohort-size", "0", "1"}},
      {{"--cohort-rate", "0.5"}, 2, {"cohort-rate", "cohort", "all"}},
      {{"--randomness", "none"}, 2, {"randomness", "none", "seeded", "secret"}},
  };
  write_table(folder.path() / "data");
  for (const Refusal& row : rows) check_refused(row, folder);
}

}  // namespace fedstride::test::private_bad_input_test
