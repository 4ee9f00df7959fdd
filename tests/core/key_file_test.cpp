#include "core/secret_key.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::key_file_test {

TEST_CASE("a key that must be there is never made") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "secret.key";
  CHECK_FAILURE(load_key(path), "secret.key");
  CHECK_FALSE(std::filesystem::exists(path));
  const SecretKey made = load_or_create_key(path);
  CHECK(load_key(path) == made);
}

TEST_CASE("a renewed key replaces the old one, for its owner alone, and leaves no other file") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "secret.key";
  const SecretKey first = renew_key(path);
  CHECK(load_key(path) == first);
  const SecretKey second = renew_key(path);
  CHECK(second != first);
  CHECK(load_key(path) == second);
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a keyed hash is HMAC-SHA256, known answer") {
  SecretKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  CHECK(keyed_hash(key, "fedstride: test") == "d4d979943a3fd80aad31015f9acf690d65dd3a0b4ae054af0e7ea1f5af260ffb");
  CHECK(derived_key(key, "fedstride: test")[0] == 0xd4);
  CHECK(derived_key(key, "fedstride: test")[31] == 0xfb);
  CHECK(bytes_of(key)[31] == '\x1f');
}

}  // namespace fedstride::test::key_file_test
