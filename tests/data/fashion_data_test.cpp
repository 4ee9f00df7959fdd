#include <doctest/doctest.h>

#include "data/official.hpp"
#include "tests/data/files.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::fashion_data_test {

TEST_CASE(
    "Fashion-MNIST is found without a flag, official, begins with an ankle boot, and has the mean and deviation it is "
    "normalized by") {
  if (!is_here("fashion-mnist")) FEDSTRIDE_SKIP("no Fashion-MNIST: install dataset-fashion-mnist");
  CHECK(verify_dataset("fashion-mnist", {}) == "official, 70000 records (60000 training, 10000 test)");
  const DataPair pair = load_dataset("fashion-mnist", {});
  CHECK(pair.train.shape == Shape{28, 28, 1});
  CHECK(pair.train.labels[0] == 9);
  CHECK(pair.test.labels[0] == 9);
  test::check_normalization(pair.train);
}

}  // namespace fedstride::test::fashion_data_test
