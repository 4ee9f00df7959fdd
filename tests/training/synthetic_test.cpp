// Takes 100 s of processor time: that a CNN passes 90 % and by how much pathological rows trail is seen at full length alone.
#include <doctest/doctest.h>

#include <ctime>

#include "sim/run/run.hpp"
#include "sim/settings/configuration.hpp"
#include "tests/support/folder.hpp"

namespace fedstride::test::synthetic_test {
namespace {

RunSummary train(const test::TemporaryFolder& folder, const std::string& out, const std::string& toml) {
  const Settings settings = parse_settings("evaluate-every = 100\nout = '" + (folder / out) + "'\n" + toml, "test");
  return run(resolve(settings), settings);
}

}  // namespace

TEST_CASE("the built-in set: a linear model stays under 70 %, the CNN passes 90 % in less than two minutes of a processor") {
  const test::TemporaryFolder folder;
  const RunSummary linear = train(folder, "linear",
                                  "clients = 1\npartition = 'iid'\nmodel = 'logistic'\noptimizer = 'sgd'\n"
                                  "learning-rate = 0.003\nrounds = 20");
  CHECK(linear.test.accuracy < 0.7);
  CHECK(linear.test.accuracy > 0.2);         // it learns the pairs
  const std::clock_t before = std::clock();  // of all threads: what else the machine does has no part in it
  const RunSummary cnn =
      train(folder, "cnn", "clients = 1\npartition = 'iid'\noptimizer = 'sgd'\nlearning-rate = 0.01\nrounds = 4");
  CHECK(cnn.test.accuracy > 0.9);
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 120);
}

TEST_CASE("the built-in set: the pathological federation trails the IID one by at least 10 points after 8 rounds") {
  const test::TemporaryFolder folder;
  const RunSummary iid = train(folder, "iid", "optimizer = 'adadp'\npartition = 'iid'\nrounds = 8");
  const RunSummary pathological = train(folder, "pathological", "optimizer = 'adadp'\npartition = 'pathological'\nrounds = 8");
  CHECK(iid.test.accuracy > 0.75);
  CHECK(pathological.test.accuracy > 0.4);
  CHECK(iid.test.accuracy - pathological.test.accuracy > 0.1);
}

}  // namespace fedstride::test::synthetic_test
