#include <doctest/doctest.h>

#include <vector>

#include "tests/cli/refusal.hpp"

namespace fedstride::test::private_bad_input_test {

TEST_CASE("privacy that cannot be had is refused in one line, and no file is made") {
  const TemporaryFolder folder;
  const std::vector<Refusal> rows{
      {{"--dp", "exmaple"}, 2, "dp 'exmaple' is unknown; did you mean 'example'? valid: none, example, client, both"},
      {{"--dp", "example"}, 2, "noise-multiplier is 0; with privacy on it must be a number above 0, or name --epsilon"},
      {{"--dp", "both", "--noise-multiplier", "1"}, 2, "client-noise-multiplier is 0; with privacy on"},
      {{"--dp", "example", "--noise-multiplier", "-1"}, 2, "noise-multiplier is -1; it must be a number from 0"},
      {{"--dp", "example", "--noise-multiplier", "nan"}, 2, "noise-multiplier is nan; it must be a number from 0"},
      {{"--dp", "example", "--noise-multiplier", "1", "--clip", "0"}, 2, "clip is 0; it must be a number above 0"},
      {{"--dp", "example", "--noise-multiplier", "1", "--delta", "0"}, 2, "delta is 0; it must be a number above 0"},
      {{"--dp", "example", "--noise-multiplier", "1", "--delta", "1"}, 2, "delta is 1; it must be a number above 0"},
      {{"--dp", "client", "--epsilon", "-1"}, 2, "epsilon is -1; it must be a number from 0"},
      {{"--dp", "client", "--epsilon", "1e-9", "--delta", "1e-12"}, 2, "epsilon"},
      {{"--noise-multiplier", "1"}, 2, "noise-multiplier does not go with dp 'none'"},
      {{"--dp", "client", "--noise-multiplier", "1", "--sampling", "shuffle"}, 2, "sampling does not go with dp 'client'"},
      {{"--dp", "example", "--noise-multiplier", "1", "--sampling", "without-replacement"}, 2, "replace-one"},
      {{"--dp", "example", "--noise-multiplier", "1", "--accountant", "zcdp"}, 2, "accountant 'zcdp'"},
      {{"--dp", "example", "--noise-multiplier", "1", "--accountant", "rpd"},
       2,
       "accountant 'rpd' is unknown; valid: auto, tight"},
      {{"--dp", "example", "--noise-multiplier", "1", "--sampling-rate", "1.5"},
       2,
       "sampling-rate is 1.5; it must be a number from 0 to 1"},
      {{"--dp", "example", "--noise-multiplier", "1", "--private-components", "2", "--components-noise", "1"}, 2, "clients is 3"},
      {{"--cohort", "poison"}, 2, "cohort 'poison' is unknown; did you mean 'poisson'?"},
      {{"--cohort", "poisson", "--cohort-rate", "0"}, 2, "cohort-rate is 0; it must be a number above 0"},
      {{"--cohort", "fixed", "--cohort-size", "0"}, 2, "cohort-size is 0; it must be a whole number from 1"},
      {{"--cohort-rate", "0.5"}, 2, "cohort-rate does not go with cohort 'all'"},
      {{"--randomness", "none"}, 2, "randomness 'none' is unknown; valid: seeded, secret"},
  };
  write_table(folder.path() / "data");
  for (const Refusal& row : rows) check_refused(row, folder);
}

}  // namespace fedstride::test::private_bad_input_test
