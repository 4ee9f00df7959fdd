// A program that is started without standard input, output or error: what it prints gets into no file that it opens.
#include <doctest/doctest.h>

#include "tests/cli/program.hpp"
#include "tests/support/refusal.hpp"

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

TEST_CASE("with too few descriptors a program says so in one line, at once, and ends as temporary or names the limit") {
  const TemporaryFolder folder;
  write_table(folder.path() / "data");
  const auto limited = [](int most, const Words& words) {
    std::string line = "ulimit -n " + std::to_string(most) + " && exec " FEDSTRIDE_PROGRAM;
    for (const std::string& word : words) line += " '" + word + "'";
    const TemporaryFolder output;
    const Process process(Process::Command{{"/bin/sh", "-c", line}}, output);
    const int code = process.wait();
    return Outcome{code, process.out(), process.err()};
  };
  int failed = 0;
  for (int most = 4; most <= 14; ++most) {
    CAPTURE(most);
    const Outcome outcome = limited(most, federation(folder, {"--out", folder / ("few" + std::to_string(most)), "--quiet"}));
    constexpr int kNotLoaded = 127;  // not even its libraries
    if (outcome.code == 0 || outcome.code == kNotLoaded) continue;
    ++failed;
    CHECK(outcome.code == 5);
    CHECK_MESSAGE(names(outcome.err, {"fedstride: ", "Too many open files"}), outcome.err);
    CHECK(line_count(outcome.err) == 1);
  }
  CHECK(failed > 0);
  Words launch = federation(folder, {"--clients", "20", "--out", folder / "launched"});
  launch[0] = "launch";
  const Outcome outcome = limited(24, launch);
  CHECK(outcome.code == 1);
  CHECK_MESSAGE(names(outcome.err, {"24 open files", "20 clients", "36", "ulimit -Hn"}), outcome.err);
}

TEST_CASE("noise beyond what sums can hold is refused before the run has a folder") {
  const TemporaryFolder folder;
  write_table(folder.path() / "data");
  for (const Words& level : {Words{"--dp", "client", "--noise-multiplier", "1", "--clip", "1e30"},
                             Words{"--dp", "client", "--noise-multiplier", "1e99", "--clip", "1"},
                             Words{"--dp", "example", "--noise-multiplier", "1e300", "--clip", "1"},
                             Words{"--dp", "example", "--noise-multiplier", "1", "--clip", "1e308"}}) {
    const Outcome outcome = run_program(federation(folder, level));
    CHECK(outcome.code == 2);
    CHECK(line_count(outcome.err) == 1);
    CHECK_MESSAGE(names(outcome.err, {"fedstride: ", "1e+"}), outcome.err);
    CHECK(outcome.err.size() < 200);
    CHECK_FALSE(std::filesystem::exists(folder / "out"));
  }
}

}  // namespace fedstride::test::descriptors_test
