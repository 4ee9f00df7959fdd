// bench/slow_network.py: ranks that share no memory, in network namespaces, with a network's delay and bandwidth between them.
#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/mpi/mpirun.hpp"

namespace fedstride::test::slow_network_test {
namespace {

Outcome over_network(const Words& words) {
  Words all{"/usr/bin/env", "ASAN_OPTIONS=detect_leaks=0", "python3",
            std::string(FEDSTRIDE_SOURCE_DIR) + "/bench/slow_network.py"};
  all.insert(all.end(), words.begin(), words.end());
  return outcome_of({all});
}

}  // namespace

TEST_CASE("ranks on hosts of their own, 2 ms and 100 Mbit/s apart, have the bits of one process") {
  FEDSTRIDE_NEEDS_MPIRUN();
  if (geteuid() != 0 || access("/dev/net/tun", R_OK | W_OK) != 0 || std::system("ip netns list >/dev/null 2>&1") != 0)
    FEDSTRIDE_SKIP("needs root, ip netns and /dev/net/tun");
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

TEST_CASE("a network that cannot be is refused in one line") {
  for (const Words& words :
       {Words{"--ranks", "1", "true"}, Words{"--delay", "-1", "true"}, Words{"--rate", "nan", "true"}, Words{}}) {
    const Outcome outcome = over_network(words);
    CHECK(outcome.code == 2);
    CHECK(outcome.err.find("; valid is ") != outcome.err.npos);
  }
}

}  // namespace fedstride::test::slow_network_test
