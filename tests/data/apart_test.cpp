// Reading in a process of its own: what it says arrives, and however it ends is an error here.
#include "data/files/apart.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <numeric>

#include "core/error.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::apart_test {
namespace {

constexpr std::uint64_t kMost = 4 << 20;
constexpr ApartLimits kLimits{.most = kMost, .seconds = 1};

void take_all(RecordReader& from) {
  while (from.next()) from.text();
}

}  // namespace

TEST_CASE("records arrive in order, longer ones than any buffer too, and memory here is as it was") {
  std::vector<std::uint8_t> sent(3'500'001);
  std::iota(sent.begin(), sent.end(), std::uint8_t{0});
  int told = 0;
  int taken = 0;
  read_apart(
      "'f'", kLimits,
      [&](RecordWriter& out) {
        for (; told < 3; ++told) {
          out.begin(static_cast<std::uint8_t>(told));
          out.number(std::uint64_t{1} << 60 | static_cast<unsigned>(told));
          out.text(told == 1 ? "" : "some");
          out.bytes(sent);
        }
      },
      [&](RecordReader& from) {
        std::vector<std::uint8_t> bytes;
        while (const auto kind = from.next()) {
          CHECK(*kind == taken);
          CHECK(from.number() == (std::uint64_t{1} << 60 | static_cast<unsigned>(taken)));
          CHECK(from.text() == (taken == 1 ? "" : "some"));
          from.bytes(bytes);
          CHECK(bytes == sent);
          ++taken;
        }
      });
  CHECK(taken == 3);
  CHECK(told == 0);
}

TEST_CASE("an error there is that error here, after the records before it") {
  int taken = 0;
  const auto tell = [](RecordWriter& out) {
    out.begin(1);
    throw usage_error("label is 'x'; valid: y");
  };
  const auto take = [&](RecordReader& from) {
    while (from.next()) ++taken;
  };
  CHECK_USAGE_ERROR(read_apart("'f'", kLimits, tell, take), "label is 'x'; valid: y");
  CHECK(taken == 1);
}

TEST_CASE("a process that is killed, stops early or sends something else is an error that names the file") {
  const auto dies = [](RecordWriter& out) {
    out.begin(1);
    out.text("half");
    out.flush();
    kill(getpid(), SIGKILL);
  };
  CHECK_FAILURE(read_apart("'f'", kLimits, dies, take_all), "'f'", "9");
  CHECK_FAILURE(read_apart(
                    "'f'", kLimits, [](RecordWriter&) { _exit(0); }, take_all),
                "'f'");
  const auto claims = [](RecordWriter& out) {
    out.begin(1);
    out.number(kMost + 1);  // the length of a text
  };
  CHECK_FAILURE(read_apart("'f'", kLimits, claims, take_all), "'f'");
}

TEST_CASE("processes that tell in turns are heard in turns, and one that has ended is passed over") {
  // Process p tells p + 1 pieces of two records.
  const auto tell = [](RecordWriter& out) {
    CHECK(out.processes() == 3);
    for (int piece = 0; piece <= out.process(); ++piece) {
      for (int record = 0; record < 2; ++record) {
        out.begin(static_cast<std::uint8_t>(out.process()));
        out.number(static_cast<unsigned>(10 * piece + record));
      }
      if (piece < out.process()) out.pass_on();
    }
  };
  std::vector<std::uint64_t> heard;
  read_apart("'f'", {.most = kMost, .seconds = 1, .processes = 3}, tell, [&](RecordReader& from) {
    while (const auto kind = from.next()) heard.push_back(100 * *kind + from.number());
  });
  CHECK(heard == std::vector<std::uint64_t>{0, 1, 100, 101, 200, 201, 110, 111, 210, 211, 220, 221});
}

TEST_CASE("of several processes the first error in turn is the error, and the fault of any names the file") {
  constexpr ApartLimits kThree{.most = kMost, .seconds = 1, .processes = 3};
  const auto fails = [](RecordWriter& out) {
    out.begin(1);
    out.text("good");
    out.pass_on();
    if (out.process() != 0) throw failure("process " + std::to_string(out.process()));
  };
  CHECK_FAILURE(read_apart("'f'", kThree, fails, take_all), "process 1");
  const auto dies = [](RecordWriter& out) {
    if (out.process() == 2) kill(getpid(), SIGKILL);
  };
  CHECK_FAILURE(read_apart("'f'", kThree, dies, take_all), "'f'", "9");
}

TEST_CASE("a process that goes in circles is ended, and an error") {
  const auto circles = [](RecordWriter&) {
    for (;;)
      if (getppid() == 0) break;
  };
  CHECK_FAILURE(read_apart("'f'", kLimits, circles, take_all), "'f'", "1");
}

TEST_CASE("a process whose records nobody wants does not outlive the reading") {
  pid_t other = 0;
  const auto endless = [](RecordWriter& out) {
    for (;;) out.number(static_cast<std::uint64_t>(getpid()));
  };
  const auto refuse = [&](RecordReader& from) {
    other = static_cast<pid_t>(from.number());
    throw failure("no more");
  };
  CHECK_FAILURE(read_apart("'f'", kLimits, endless, refuse), "no more");
  CHECK(other > 0);
  CHECK(kill(other, 0) == -1);
}

}  // namespace fedstride::test::apart_test
