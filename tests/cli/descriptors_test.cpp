// A program that is started without standard input, output or error: what it prints gets into no file that it opens.
#include <doctest/doctest.h>

#include "tests/cli/program.hpp"

namespace fedstride::test::descriptors_test {

TEST_CASE("with any of the standard descriptors closed a private run ends as ever, and its ledger has no line that is none") {
  const TemporaryFolder folder;
  write_table(folder.path() / "data");
  int runs = 0;
  for (const char* const closed : {"0<&-", "1>&-", "2>&-", "0<&- 1>&-", "0<&- 1>&- 2>&-"}) {
    CAPTURE(closed);
    const std::string out = folder / ("out" + std::to_string(++runs));
    const Words words = federation(folder, {"--dp", "client", "--clip", "0.5", "--noise-multiplier", "5", "--out", out});
    std::string line = "exec " FEDSTRIDE_PROGRAM;
    for (const std::string& word : words) line += " '" + word + "'";
    const TemporaryFolder output;
    const Process process(Process::Command{{"/bin/sh", "-c", line + " " + closed}}, output);
    CHECK_MESSAGE(process.wait() == 0, process.err());
    const Outcome audit = run_program({"privacy", "audit", out});
    CHECK_MESSAGE(audit.code == 0, audit.err);
  }
}

}  // namespace fedstride::test::descriptors_test
