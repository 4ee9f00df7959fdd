#include <doctest/doctest.h>

#include <map>
#include <utility>

#include "data/official.hpp"
#include "tests/data/files.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::heart_data_test {

TEST_CASE("the published files: both parts have a hospital's share of the ill, except in Zurich and Basel, where one is not") {
  if (!is_here("heart")) FEDSTRIDE_SKIP("no heart-disease data: fedstride data get heart");
  CHECK(verify_dataset("heart", {}) == "official, 740 records (486 training, 254 test)");
  const DataPair pair = load_dataset("heart", {});
  using Counts = std::map<std::pair<std::uint32_t, int>, std::size_t>;  // of hospital and flag
  const auto counts_of = [](const Dataset& part) {
    Counts counts;
    for (std::size_t row = 0; row < part.size(); ++row) ++counts[{part.clients[row], static_cast<int>(part.values[row])}];
    return counts;
  };
  CHECK(counts_of(pair.train) ==
        Counts{{{0, 0}, 108}, {{0, 1}, 91}, {{1, 0}, 107}, {{1, 1}, 65}, {{2, 1}, 30}, {{3, 0}, 19}, {{3, 1}, 66}});
  CHECK(counts_of(pair.test) ==
        Counts{{{0, 0}, 56}, {{0, 1}, 48}, {{1, 0}, 56}, {{1, 1}, 33}, {{2, 0}, 1}, {{2, 1}, 15}, {{3, 0}, 10}, {{3, 1}, 35}});
}

}  // namespace fedstride::test::heart_data_test
