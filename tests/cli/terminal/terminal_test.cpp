#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/cli/program.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::terminal_test {

TEST_CASE("on a terminal a run shows a bar with round, accuracy, examples a second and time left") {
  if (std::system("script -qec true /dev/null >/dev/null 2>&1 </dev/null") != 0)
    FEDSTRIDE_SKIP("no terminal can be made here: 'script' is not installed, or /dev/pts is not mounted");
  const TemporaryFolder folder;
  write_table(folder / "data", 3000);
  std::string command = FEDSTRIDE_PROGRAM;
  for (const auto& word : federation(folder, {"--rounds", "4", "--model", "dense 64 | relu | dense classes"}))
    command += " \"" + word + "\"";
  const std::string shown = folder / "shown.txt";
  REQUIRE(std::system(("script -qec '" + command + "' /dev/null > " + shown + " < /dev/null").c_str()) == 0);
  const std::string text = fedstride::read_file(shown);
  const auto bar = text.find("\r\x1b[K[");
  REQUIRE(bar != std::string::npos);
  const std::string line = text.substr(bar, text.find('\r', bar + 1) - bar);
  for (const char* part : {"] round ", "accuracy ", "examples/s", " left"})
    CHECK_MESSAGE(line.find(part) != std::string::npos, part);
  CHECK(text.find("round 4/4  test accuracy") != std::string::npos);
}

}  // namespace fedstride::test::terminal_test
