#include "core/descriptor.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace fedstride::test::descriptor_test {

TEST_CASE("where standard input is closed a file opened gets its number, 0, and is a file as others are") {
  const int input = ::dup(0);
  REQUIRE(input > 0);
  ::close(0);
  {
    const Descriptor file = opened("/dev/null", O_RDONLY);
    CHECK(file);
    CHECK(file.get() == 0);
  }
  CHECK(::fcntl(0, F_GETFD) == -1);  // it was closed in the end
  ::dup2(input, 0);
  ::close(input);
}

TEST_CASE("a descriptor that was moved from is none, and one that cannot be opened says why") {
  Descriptor one = opened("/dev/null", O_RDONLY);
  REQUIRE(one);
  const int number = one.get();
  const Descriptor other = std::move(one);
  CHECK(other.get() == number);
  CHECK_FALSE(one);  // NOLINT(bugprone-use-after-move)
  CHECK_FALSE(opened("/dev/null/absent", O_RDONLY));
  CHECK(errno == ENOTDIR);
}

}  // namespace fedstride::test::descriptor_test
