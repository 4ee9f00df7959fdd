#include <doctest/doctest.h>

#include <algorithm>

#include "data/batch.hpp"
#include "data/built_in.hpp"
#include "data/split.hpp"

namespace fedstride::test::keep_rows_test {

TEST_CASE("of kept rows pictures, augmentation and labels are what they were, and the others' memory is gone") {
  Dataset whole = make_synthetic(SyntheticPart::train, 1000);
  whole.mean.assign(3, 0.5F);
  whole.deviation.assign(3, 0.16F);
  Dataset some = whole;
  const std::vector<Row> rows{700, 3, 41, 42, 5};
  keep_rows(some, rows);
  CHECK(some.size() == 5);
  CHECK(some.pixels.size() == 5 * whole.shape.size());
  const BatchAddress address{.seed = 3, .round = 2, .client = 1, .step = 9};
  const std::vector<Row> batch{42, 700, 3};
  for (const auto augmentation : {Augmentation::none, Augmentation::crop_flip}) {
    std::vector<float> expected(3 * whole.shape.size()), found(expected.size());
    fill_batch(whole, batch, augmentation, address, expected);
    fill_batch(some, batch, augmentation, address, found);
    CHECK(found == expected);
  }
  AnswerRoom of_whole, of_some;
  CHECK(std::ranges::equal(of_some.read(some, batch).labels, of_whole.read(whole, batch).labels));
}

}  // namespace fedstride::test::keep_rows_test
