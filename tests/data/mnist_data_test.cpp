#include <doctest/doctest.h>

#include "data/official.hpp"
#include "tests/data/files.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::mnist_data_test {

TEST_CASE("MNIST is official, begins with a five, and has the mean and deviation it is normalized by") {
  if (!is_here("mnist")) FEDSTRIDE_SKIP("no MNIST in $FEDSTRIDE_DATA");
  CHECK(verify_dataset("mnist", {}) == "official, 70000 records (60000 training, 10000 test)");
  const DataPair pair = load_dataset("mnist", {});
  CHECK(pair.train.shape == Shape{28, 28, 1});
  CHECK(pair.train.labels[0] == 5);
  CHECK(pair.test.labels[0] == 7);
  test::check_normalization(pair.train);
}

}  // namespace fedstride::test::mnist_data_test
