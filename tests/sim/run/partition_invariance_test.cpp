#include <doctest/doctest.h>

#include <fstream>

#include "core/eigen.hpp"
#include "core/random.hpp"
#include "sim/fleet/in_process_fleet.hpp"
#include "sim/prepare/setup.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::partition_invariance_test {
namespace {

void write_four_classes(const test::TemporaryFolder& folder) {
  for (const auto* name : {"train.csv", "test.csv"}) {
    std::ofstream file(folder / name);
    for (int row = 0; row < 300; ++row) {
      RandomStream random(2, {.purpose = Purpose::test, .row = static_cast<std::uint32_t>(row)});
      const int label = row % 4;
      for (int column = 0; column < 5; ++column) file << random.normal() + (column == label ? 1 : 0) << ',';
      file << label << '\n';
    }
  }
}

Vector after_100_rounds(const test::TemporaryFolder& folder, const std::string& partition) {
  Setup setup = prepare(resolve(parse_settings(
      "data = '" + folder.path().string() +
          "'\nmodel = 'dense 6 | tanh | dense classes'\noptimizer = 'sgd'\nlearning-rate = 0.3\nbatch = 1000\n" + partition,
      "test")));
  Threads threads(1);
  InProcessFleet fleet(setup.model, setup.data.train, setup.training, setup.clients.rows, threads);
  Vector model = setup.initial;
  Server server(setup.configuration.server, setup.model.size());
  for (std::uint32_t round = 1; round <= 100; ++round) run_round(round, setup.rules, fleet, server, model);
  return model;
}

float distance(const Vector& a, const Vector& b) { return (eigen(a) - eigen(b)).norm(); }

}  // namespace

TEST_CASE("with full batches, one local step and weights by count, the partition does not matter") {
  const test::TemporaryFolder folder;
  write_four_classes(folder);
  const Vector centralized = after_100_rounds(folder, "clients = 1\npartition = 'iid'");
  CHECK(distance(centralized, after_100_rounds(folder, "clients = 1\npartition = 'iid'\nserver-learning-rate = 0.5")) >
        1e-2 * eigen(centralized).norm());
  for (const std::string partition :
       {"clients = 7\npartition = 'iid'", "clients = 4\npartition = 'pathological'",
        "clients = 5\npartition = 'dirichlet'\nalpha = 0.3", "clients = 6\npartition = 'interpolated'\nrandom-fraction = 0.4",
        "clients = 3\npartition = 'shards'"}) {
    CAPTURE(partition);
    CHECK(distance(after_100_rounds(folder, partition), centralized) < 1e-5 * eigen(centralized).norm());
  }
}

}  // namespace fedstride::test::partition_invariance_test
