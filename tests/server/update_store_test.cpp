#include "server/update_store.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>

#include "core/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/vectors.hpp"

namespace fedstride::test::update_store_test {

TEST_CASE("vectors are kept in memory up to the limit, and in a file beyond it") {
  UpdateStore store(3 * 5 * sizeof(float));
  std::vector<std::span<const float>> kept;
  for (int i = 0; i < 7; ++i) kept.push_back(store.keep(view(Vector(5, static_cast<float>(i)))));
  CHECK(store.keep({}).empty());
  CHECK(store.in_file() >= 4 * 5 * sizeof(float));
  for (int i = 0; i < 7; ++i) CHECK(Vector(kept[static_cast<std::size_t>(i)]) == Vector(5, static_cast<float>(i)));
  UpdateStore roomy(1 << 20);
  for (int i = 0; i < 7; ++i) roomy.keep(view(Vector(5)));
  CHECK(roomy.in_file() == 0);
}

TEST_CASE("a folder that cannot hold the file is named") {
  const char* before = ::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/proc", 1);
  UpdateStore store(0);
  CHECK_FAILURE(store.keep(view(Vector(5))), "'/proc'", "TMPDIR", "--update-memory");
  if (before == nullptr)
    ::unsetenv("TMPDIR");
  else
    ::setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace fedstride::test::update_store_test
