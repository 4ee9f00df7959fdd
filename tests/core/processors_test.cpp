// How many processors a process may use: by affinity and by control groups' quotas.
#include "core/processors.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include "core/files.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::processors_test {
namespace {

void put(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  write_file(file, text);
}

}  // namespace

TEST_CASE("a control group's quota limits the processors, its own or one around it, in both versions") {
  const int all = usable_processors();
  CHECK(all >= 1);
  const auto with = [](const std::string& groups, const std::string& file, const std::string& text) {
    const TemporaryFolder root;
    put(root.path() / "proc/self/cgroup", groups);
    put(root.path() / "sys/fs/cgroup" / file, text);
    if (file.ends_with("quota_us")) put((root.path() / "sys/fs/cgroup" / file).parent_path() / "cpu.cfs_period_us", "100000\n");
    return usable_processors(root.path());
  };
  CHECK(with("0::/\n", "cpu.max", "100000 100000\n") == 1);
  CHECK(with("0::/\n", "cpu.max", "max 100000\n") == all);
  CHECK(with("0::/jobs/one\n", "jobs/one/cpu.max", "50000 100000\n") == 1);
  CHECK(with("0::/jobs/one\n", "jobs/cpu.max", "100000 100000\n") == 1);
  CHECK(with("0::/elsewhere\n", "cpu.max", "1000 100000\n") == 1);  // a container: the path is the host's
  CHECK(with("4:cpu,cpuacct:/a\n1:memory:/a\n", "cpu/a/cpu.cfs_quota_us", "100000\n") == 1);
  CHECK(with("4:cpu,cpuacct:/a\n", "cpu/a/cpu.cfs_quota_us", "-1\n") == all);
  CHECK(with("4:memory:/a\n", "cpu/a/cpu.cfs_quota_us", "100000\n") == all);
  for (const char* damaged : {"", "x y z", "-5 0", "nan 1", "1e999 1"}) CHECK(with("0::/\n", "cpu.max", damaged) == all);
  if (all > 1) CHECK(with("0::/\n", "cpu.max", "110000 100000\n") == 2);
  const TemporaryFolder nothing;
  CHECK(usable_processors(nothing.path()) == all);
}

TEST_CASE("affinity limits the processors") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CPU_ZERO(&one);
  for (std::size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(usable_processors() == 1);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

}  // namespace fedstride::test::processors_test
