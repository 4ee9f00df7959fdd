#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/support/skip.hpp"

namespace fedstride::test {
bool something_was_skipped = false;
}

// Exit code 77 is ctest's "skipped": nothing failed, and a test said that what it needs is not here.
int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int failed = context.run();
  if (failed == 0 && fedstride::test::something_was_skipped) return 77;
  return failed;
}
