// What people see on a terminal: bars that fit, clear themselves and leave only whole lines.
#include "tests/support/terminal.hpp"

#include <doctest/doctest.h>

#include "cli/terminal/live_lines.hpp"
#include "core/text.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::terminal_test {
namespace {

Words with_program(Words words) {
  words.insert(words.begin(), FEDSTRIDE_PROGRAM);
  return words;
}

// A run of some seconds, with a bar that is at work in each round.
Words long_run(const TemporaryFolder& folder, Words more = {}) {
  write_table(folder / "data", 3000);
  for (const char* word : {"--model", "dense 64 | relu | dense classes", "--optimizer", "sgd"}) more.emplace_back(word);
  return with_program(federation(folder, more));
}

bool is_bar(std::string_view line) { return line.starts_with("[#") || line.starts_with("[."); }

// The longest line of a bar that was drawn, in characters.
std::size_t longest_bar(const std::string& bytes) {
  std::size_t longest = 0;
  for (const char* begins : {"[#", "[."})
    for (std::size_t at = bytes.find(begins); at != bytes.npos; at = bytes.find(begins, at + 1))
      longest = std::max(longest, bytes.find('\r', at) - at);
  return longest;
}

void check_only_whole_lines(const Screen& screen) {
  for (const std::string& line : screen.lines()) {
    CAPTURE(line);
    CHECK_FALSE(is_bar(line));
    // A line that begins another one in its middle is glued to it.
    for (const char* begins : {"round ", "stopped after", "finished after", "fedstride: stopped"}) {
      const auto at = line.rfind(begins);
      CHECK((at == line.npos || at == 0 || line[at - 1] == ' '));
    }
  }
}

bool has_line(const Screen& screen, std::string_view begins) {
  const auto lines = screen.lines();
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.starts_with(begins); });
}

}  // namespace

TEST_CASE("a bar and its pieces fit every width: the bar shrinks, then the least important pieces go") {
  const Piece pieces[] = {{"round 12/2000"}, {"accuracy 0.1234", 2}, {"123456 examples/s", 3}, {"1:02:03 left", 1}};
  CHECK(bar_line(0.5, pieces, 200) ==
        "[###############...............] round 12/2000  accuracy 0.1234  123456 examples/s  1:02:03 left");
  CHECK(bar_line(0.5, pieces, 80) == "[#######.......] round 12/2000  accuracy 0.1234  123456 examples/s  1:02:03 left");
  CHECK(bar_line(0.5, pieces, 60) == "[######.......] round 12/2000  accuracy 0.1234  1:02:03 left");
  CHECK(bar_line(0.5, pieces, 40) == "[#####.....] round 12/2000  1:02:03 left");
  CHECK(bar_line(0.5, pieces, 27) == "[#####......] round 12/2000");
  CHECK(bar_line(0.5, pieces, 13) == "round 12/2000");
  CHECK(bar_line(0.5, pieces, 6) == "round…");
  for (std::size_t columns = 1; columns < 120; ++columns)
    CHECK(shortened(bar_line(0.3, pieces, columns), columns) == bar_line(0.3, pieces, columns));
}

TEST_CASE("on a terminal of any width a run shows a bar that fits and leaves only its lines") {
  for (const std::size_t columns : {40, 60, 80, 200}) {
    CAPTURE(columns);
    const TemporaryFolder folder;
    OnTerminal run(long_run(folder, {"--rounds", "6", "--local-epochs", "20"}), columns);
    if (!run.made()) FEDSTRIDE_SKIP("no terminal can be made here (/dev/ptmx)");
    CHECK(run.wait() == 0);
    const std::size_t longest = longest_bar(run.bytes);
    CHECK(longest > 0);
    CHECK(longest <= columns - 3);  // with room for ^C
    check_only_whole_lines(run.screen);
    CHECK(has_line(run.screen, "round 6/6  test accuracy"));
    CHECK(has_line(run.screen, "finished after round 6"));
  }
}

TEST_CASE("a window that becomes narrower or wider meanwhile keeps no part of a bar") {
  const TemporaryFolder folder;
  OnTerminal run(long_run(folder, {"--rounds", "12", "--local-epochs", "300"}), 200);
  if (!run.made()) FEDSTRIDE_SKIP("no terminal can be made here (/dev/ptmx)");
  const auto rounds = [&] {
    return std::ranges::count_if(run.screen.lines(), [](const std::string& line) { return line.starts_with("round "); });
  };
  for (const std::size_t columns : {60, 30, 120, 40}) {
    const auto before = rounds();
    REQUIRE(run.until([&] { return rounds() > before && is_bar(run.screen.lines().back()); }));
    run.resize(columns);
  }
  CHECK(run.wait() == 0);
  check_only_whole_lines(run.screen);
  CHECK(has_line(run.screen, "finished after round 12"));
}

TEST_CASE("Ctrl-C and SIGTERM end a run with whole lines, whatever it is doing") {
  for (const std::size_t columns : {40, 80}) {
    CAPTURE(columns);
    for (const bool types : {true, false}) {
      CAPTURE(types);
      for (const char* moment : {"", "results: ", "round 1/9", "round 2/9"}) {
        CAPTURE(moment);
        const TemporaryFolder folder;
        OnTerminal run(long_run(folder, {"--rounds", "9", "--local-epochs", "60"}), columns);
        if (!run.made()) FEDSTRIDE_SKIP("no terminal can be made here (/dev/ptmx)");
        const bool begins = *moment == '\0';
        if (begins) {
          std::this_thread::sleep_for(std::chrono::milliseconds(120));
        } else {
          REQUIRE(run.until([&] { return has_line(run.screen, moment) && is_bar(run.screen.lines().back()); }));
        }
        types ? run.type("\003") : run.signal(SIGTERM);
        const int code = run.wait();
        CAPTURE(run.bytes);
        check_only_whole_lines(run.screen);
        if (begins) continue;  // it may not handle signals yet
        CHECK(code == 130);
        CHECK(has_line(run.screen, "fedstride: stopped; resume with: fedstride run --resume"));
      }
    }
  }
}

TEST_CASE("a second Ctrl-C ends a run at once, without its bar") {
  const TemporaryFolder folder;
  write_table(folder / "data", 3000);
  OnTerminal run(with_program(federation(
                     folder, {"--clients", "1", "--local-epochs", "1000000", "--model",
                              "dense 512 | relu | dense 512 | relu | dense classes", "--batch", "3000", "--partition", "iid"})),
                 80);
  if (!run.made()) FEDSTRIDE_SKIP("no terminal can be made here (/dev/ptmx)");
  REQUIRE(run.until([&] { return is_bar(run.screen.lines().empty() ? "" : run.screen.lines().back()); }));
  run.type("\003\003");
  const int code = run.wait();
  CHECK((code == -SIGINT || code == 130));
  check_only_whole_lines(run.screen);
}

TEST_CASE("lines for standard error go beside the bar, and to a file without marks for terminals") {
  for (const bool apart : {false, true}) {
    const TemporaryFolder folder;
    const std::string error = folder / "error.txt";
    Words words = long_run(folder, {"--rounds", "3", "--local-epochs", "10"});
    words[1] = "launch";
    OnTerminal run(words, 60, apart ? error : "");
    if (!run.made()) FEDSTRIDE_SKIP("no terminal can be made here (/dev/ptmx)");
    CHECK(run.wait() == 0);
    check_only_whole_lines(run.screen);
    const auto lines = run.screen.lines();
    const bool shows_log =
        std::ranges::any_of(lines, [](const std::string& line) { return line.find(" info: client 2 (127.0.0.1:") != line.npos; });
    CHECK(shows_log == !apart);
    if (apart) CHECK(read_file(error).find('\033') == std::string::npos);
  }
}

TEST_CASE("a sweep's bar and the lines of its cells fit and clear themselves") {
  const TemporaryFolder folder;
  write_table(folder / "data", 3000);
  write_file(folder / "experiment.toml", "data = '" + (folder / "data") +
                                             "'\nmodel = 'dense 64 | relu | dense classes'\nrounds = 3\nlocal-epochs = 60\n"
                                             "optimizer = 'sgd'\n[experiment]\ntitle = 'A sweep'\n[sweep]\nseed = [1, 2, 3]\n"
                                             "learning-rate = [0.01, 0.02]\n");
  for (const std::size_t columns : {40, 200}) {
    CAPTURE(columns);
    OnTerminal sweep(
        with_program({"sweep", folder / "experiment.toml", "--jobs", "2", "--out", folder / std::to_string(columns)}), columns);
    if (!sweep.made()) FEDSTRIDE_SKIP("no terminal can be made here (/dev/ptmx)");
    CHECK(sweep.wait() == 0);
    check_only_whole_lines(sweep.screen);
    CHECK(sweep.bytes.find("\033[2A") != std::string::npos);  // two cells at a time were shown
    CHECK(has_line(sweep.screen, "[6/6] "));
    for (const std::string& line : sweep.screen.lines()) CHECK_FALSE(line.starts_with("  round "));
  }
}

TEST_CASE("without a terminal, and on one that cannot move its cursor, there is no bar") {
  const TemporaryFolder folder;
  Words words = long_run(folder, {"--rounds", "2"});
  words.erase(words.begin());
  CHECK(run_program(words).out.find('\033') == std::string::npos);
  Words dumb = long_run(folder, {"--rounds", "2", "--out", folder / "dumb"});
  dumb.insert(dumb.begin(), {"/usr/bin/env", "TERM=dumb"});
  OnTerminal run(dumb, 80);
  if (!run.made()) FEDSTRIDE_SKIP("no terminal can be made here (/dev/ptmx)");
  CHECK(run.wait() == 0);
  CHECK(run.bytes.find('\033') == std::string::npos);
}

}  // namespace fedstride::test::terminal_test
