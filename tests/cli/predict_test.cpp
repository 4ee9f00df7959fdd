// tests/python/test_predict.py compares the numbers.
#include <doctest/doctest.h>

#include "core/files.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/refusal.hpp"
#include "tests/support/json.hpp"

namespace fedstride::test::predict_test {

TEST_CASE("predictions are a line a row, the same on standard output and in a file; what cannot be predicted is refused") {
  const TemporaryFolder folder;
  write_table(folder / "data");
  REQUIRE(run_program(federation(folder, {"--rounds", "2", "--out", folder / "run"})).code == 0);
  const std::string rows = folder / "data/test.csv";
  const Outcome shown = run_program({"predict", folder / "run", "--data", rows});
  REQUIRE(shown.code == 0);
  CHECK(shown.out.starts_with("row,class,probability_"));
  CHECK(line_count(shown.out) == line_count(read_file(rows)) + 1);
  const Outcome written = run_program({"predict", folder / "run", "--data", rows, "--out", folder / "p.csv", "--threads", "1"});
  CHECK(written.code == 0);
  CHECK(read_file(folder / "p.csv") == shown.out);
  const Outcome machine = run_program({"predict", folder / "run", "--data", rows, "--json"});
  REQUIRE(machine.code == 0);
  CHECK(Json::parse(machine.out)["rows"].size() == 60);
  const Refusal refusals[] = {
      {{"predict", "@/run"}, 2, {"data", "''"}},
      {{"predict", "@/run", "--data", "@/data/test.csv", "--client", "1"}, 2, {"client", "1", "ditto"}},
      {{"predict", "@/nowhere", "--data", "@/data/test.csv"}, 2, {"@/nowhere"}},
  };
  for (const Refusal& refusal : refusals) check_refused(refusal, folder);
}

}  // namespace fedstride::test::predict_test
