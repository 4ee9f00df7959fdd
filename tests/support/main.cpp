#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "tests/support/skip.hpp"

namespace fedstride::test {
bool something_was_skipped = false;
}

namespace {

double seconds(int whose) {
  rusage used{};
  getrusage(whose, &used);
  const auto of = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  return of(used.ru_utime) + of(used.ru_stime);
}

}  // namespace

// Exit code 77 is ctest's "skipped": nothing failed, and a test said that what it needs is not here. ./run-tests reads the last line.
int main(int argc, char** argv) {
  ::setenv("FEDSTRIDE_CACHE_LIMIT", "0", 1);  // nothing in this user's cache
  doctest::Context context(argc, argv);
  const int failed = context.run();
  std::printf("processor time: %.2f s\n", seconds(RUSAGE_SELF) + seconds(RUSAGE_CHILDREN));
  if (failed == 0 && fedstride::test::something_was_skipped) return 77;
  return failed;
}
