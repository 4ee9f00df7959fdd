#pragma once

#include <doctest/doctest.h>

namespace fedstride::test {
extern bool something_was_skipped;
}

/// Leaves the test case and makes ctest report its file as skipped.
#define FEDSTRIDE_SKIP(reason)                       \
  do {                                               \
    MESSAGE("skipped: " << reason);                  \
    ::fedstride::test::something_was_skipped = true; \
    return;                                          \
  } while (false)
