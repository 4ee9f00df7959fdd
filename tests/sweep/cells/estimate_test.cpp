#include <doctest/doctest.h>

#include <cmath>

#include "core/files.hpp"
#include "sweep/cells/estimate.hpp"
#include "sweep/cells/sweep.hpp"
#include "tests/sim/run/csv_runs.hpp"

namespace fedstride::test::estimate_test {
namespace {

std::vector<double> estimated(const std::string& text, const SweepOptions& options) {
  const Experiment experiment = parse_experiment(text, "e.toml", "full");
  SweepOptions all = options;
  const auto cells = expand(experiment, all.inputs);
  std::vector<double> seconds;
  for (const CellEstimate& one : estimate(experiment, cells, all)) {
    CHECK(std::isnan(one.seconds) == !one.why.empty());
    seconds.push_back(one.seconds);
  }
  return seconds;
}

std::string table(const test::TemporaryFolder& folder) {
  return "data = '" + folder.path().string() + "'\nclients = 3\nclasses = 3\nheader = 'no'\nmean = '0.67'\ndeviation = '1.2'\n";
}

}  // namespace

TEST_CASE("the estimate grows with rounds, and is nothing for what is finished") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const std::string text = table(folder) + "model = 'dense 64 | relu | dense classes'\n[sweep]\nrounds = [1, 1000, 100000]\n";
  const SweepOptions options{.out = folder / "s", .threads = 1};
  const auto before = estimated(text, options);
  REQUIRE(before.size() == 3);
  CHECK(before[0] > 0);
  CHECK(before[1] > before[0]);
  CHECK(before[2] > 50 * before[1]);
  CHECK(before[2] < 200 * before[1]);
  CHECK(!std::filesystem::exists(folder / "s"));
  const Experiment experiment = parse_experiment(text, "e.toml", "full");
  sweep(experiment, expand(experiment), {.out = folder / "s", .shards = 3});
  const auto after = estimated(text, options);
  CHECK(after[0] == 0);
  CHECK(after[1] > 0);
}

TEST_CASE("a private cell is estimated without its budget ending the measurement, a failing one is not known") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const auto seconds = estimated(table(folder) +
                                     "dp = 'example'\nrounds = 50\noptimizer = 'sgd'\n[sweep]\nepsilon = [0.1]\n"
                                     "model = ['logistic', 'conv 3 3']",
                                 {.out = folder / "s", .threads = 1});
  REQUIRE(seconds.size() == 2);
  CHECK(seconds[0] > 0);
  CHECK(std::isnan(seconds[1]));
}

TEST_CASE("a lot that takes longer than the measurement is waited for") {
  const test::TemporaryFolder folder;
  std::string rows;
  for (int i = 0; i < 4000; ++i) rows += std::to_string(i % 7) + "," + std::to_string(i % 3) + "\n";
  write_file(folder / "train.csv", rows);
  write_file(folder / "test.csv", rows.substr(0, 400));
  const auto seconds = estimated("data = '" + folder.path().string() +
                                     "'\nclients = 1\npartition = 'iid'\noptimizer = 'sgd'\nrounds = 1000\n"
                                     "model = 'dense 1500 | relu | dense 1500 | relu | dense classes'\n"
                                     "evaluate-every = 1000\n[sweep]\nbatch = [4000]\n",
                                 {.out = folder / "s", .threads = 1});
  // A round is 5e10 floating-point operations; no core does a thousand of them in 20 seconds.
  CHECK(seconds.at(0) > 20);
}

TEST_CASE("a cell that its budget ends is estimated for the rounds that the budget covers") {
  const test::TemporaryFolder folder;
  test::write_data(folder);
  const auto seconds = estimated(table(folder) +
                                     "model = 'dense 64 | relu | dense classes'\ndp = 'example'\noptimizer = 'sgd'\n"
                                     "noise-multiplier = 2\nrounds = 100000\nevaluate-every = 100000\n"
                                     "[sweep]\nepsilon = [0, 3]\n",
                                 {.out = folder / "s", .threads = 1});
  REQUIRE(seconds.size() == 2);
  CHECK(seconds[1] > 0);
  CHECK(seconds[1] < seconds[0] / 100);
}

}  // namespace fedstride::test::estimate_test
