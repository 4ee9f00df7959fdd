// tools/bench/slow_network.py: ranks in separate network namespaces, without shared memory, connected with limited delay and
// bandwidth.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>

#include "tests/sim/mpi/mpirun.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::slow_network_test {
namespace {

Outcome over_network(const Words& words) {
  Words all{"/usr/bin/env", "ASAN_OPTIONS=detect_leaks=0", "python3",
            std::string(FEDSTRIDE_SOURCE_DIR) + "/tools/bench/slow_network.py"};
  all.insert(all.end(), words.begin(), words.end());
  return outcome_of({all});
}

// 'ip netns exec' also remounts '/', which fails in a chroot, where that is no mount point.
bool namespaces_work() {
  const std::string name = "fedstride-" + std::to_string(getpid()) + "-probe";
  const std::string probe =
      "ip netns add " + name + " && ip netns exec " + name + " true; code=$?; ip netns del " + name + "; exit $code";
  return std::system(("{ " + probe + "; } >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace

TEST_CASE("ranks on separate hosts, 2 ms and 100 Mbit/s apart, give the same bits as one process") {
  FEDSTRIDE_NEEDS_MPIRUN();
  if (geteuid() != 0 || access("/dev/net/tun", R_OK | W_OK) != 0 || !namespaces_work())
    FEDSTRIDE_SKIP("network namespaces cannot be made and entered here (root with ip and /dev/net/tun can, outside a chroot)");
  const TemporaryFolder folder;
  write_table(folder / "data");
  const Words settings{"--optimizer", "adadp", "--clients", "5", "--rounds", "3", "--quiet"};
  const auto with = [&](Words more) {
    more.insert(more.end(), settings.begin(), settings.end());
    return federation(folder, more);
  };
  REQUIRE(run_program(with({"--out", folder / "alone"})).code == 0);

  Words words{"--ranks", "3", "--delay", "2e-3", "--rate", "1e8", FEDSTRIDE_PROGRAM};
  const Words federated = with({"--out", folder / "out", "--fleet", "mpi"});
  words.insert(words.end(), federated.begin(), federated.end());
  const Outcome outcome = over_network(words);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.out << outcome.err);
  MESSAGE(outcome.out);
  CHECK(hashes(folder / "out") == hashes(folder / "alone"));
}

TEST_CASE("an impossible network is refused in one line") {
  const auto refused = [](const Words& words, std::initializer_list<std::string_view> parts) {
    const Outcome outcome = over_network(words);
    CHECK(outcome.code == 2);
    CHECK_MESSAGE(std::ranges::any_of(split(outcome.err, '\n'), [&](std::string_view line) { return names(line, parts); }),
                  outcome.err);
  };
  refused({"--ranks", "1", "true"}, {"ranks", "1", "2", "64"});
  refused({"--delay", "-1", "true"}, {"delay", "-1.0", "0", "10"});
  refused({"--rate", "nan", "true"}, {"rate", "nan", "1e4", "1e12"});
  refused({}, {"command", "[]"});
}

}  // namespace fedstride::test::slow_network_test
