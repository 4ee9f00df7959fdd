#include "core/process.hpp"

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "core/text.hpp"

namespace fedstride::test::process_test {
namespace {

std::string all_from(int fd) {
  std::string text;
  std::array<char, 256> buffer{};
  for (ssize_t count; (count = uninterrupted([&] { return ::read(fd, buffer.data(), buffer.size()); })) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  return text;
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST_CASE("a descriptor is closed once, by whom it was moved to") {
  int number = -1;
  {
    Descriptor first = opened("/dev/null", O_RDONLY);
    number = first.get();
    const Descriptor second = std::move(first);
    CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move)
    CHECK(second.get() == number);
    CHECK((::fcntl(number, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK_FALSE(is_open(number));
  const int why = opened("/nowhere/at/all", O_RDONLY) ? 0 : errno;
  CHECK(why == ENOENT);
}

TEST_CASE("a process tells its code, or minus its signal, once") {
  ChildProcess seven = forked([] { return 7; });
  CHECK(seven.wait() == 7);
  CHECK_FALSE(seven);
  CHECK_FALSE(seven.ended());
  ChildProcess killed = forked([] { return ::pause(); });
  CHECK_FALSE(killed.ended());
  killed.signal(SIGKILL);
  CHECK(killed.wait() == -SIGKILL);
}

TEST_CASE("a program has the streams that it is given, and one that is not there cannot be started") {
  const std::vector<std::string> words{"tr", "a-c", "A-C"};
  const Descriptor nowhere = opened("/dev/null", O_WRONLY);
  Pipe to, from;
  ChildProcess tr = started(words, {to.out.get(), from.in.get(), nowhere.get()});
  REQUIRE(tr);
  from.in = Descriptor();
  CHECK(write_all(to.in.get(), "cab d"));
  to.in = Descriptor();
  CHECK(all_from(from.out.get()) == "CAB d");
  CHECK(tr.wait() == 0);
  const std::vector<std::string> none{"no-such-program-is-here"};
  const int why = started(none, {nowhere.get(), nowhere.get(), nowhere.get()}) ? 0 : errno;
  CHECK(why == ENOENT);
}

TEST_CASE("a process does not outlive its owner") {
  Pipe pipe;
  {
    const ChildProcess child = forked([] { return ::pause(); }, SIGKILL);
    CHECK(is_open(pipe.in.get()));
  }
  pipe.in = Descriptor();
  CHECK(all_from(pipe.out.get()).empty());  // the child had the other end, too
}

TEST_CASE("nothing else starts processes, waits for them or looks at interrupted calls") {
  namespace fs = std::filesystem;
  const fs::path root = FEDSTRIDE_SOURCE_DIR;
  constexpr std::array<std::string_view, 6> kWords{"EINTR", "fork()", "waitpid(", "posix_spawn", "pipe2(", "0123456789abcdef\";"};
  for (const char* folder :
       {"client", "cli", "core", "data", "dp", "nn", "partitions", "python", "server", "sim", "sweep", "tests/support"})
    for (const auto& file : fs::recursive_directory_iterator(root / folder)) {
      const std::string name = file.path().lexically_relative(root).string();
      if (!name.ends_with("pp") || name == "core/process.cpp" || name == "core/descriptor.hpp" || name == "core/hash.cpp" ||
          name == "tests/support/fault_proxy.hpp")  // which has a descriptor that does not block
        continue;
      const std::string text = read_file(file.path());
      for (const std::string_view word : kWords) CHECK_MESSAGE(text.find(word) == std::string::npos, name, ": ", word);
    }
}

}  // namespace
}  // namespace fedstride::test::process_test
