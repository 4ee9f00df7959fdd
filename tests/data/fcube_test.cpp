#include "data/built_in.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "data/datasets.hpp"

namespace fedstride::test::fcube_test {

TEST_CASE("each of four clients holds two octants symmetric about the origin, evenly, and x1 decides the class") {
  const DataPair pair = load_dataset("fcube", {});
  CHECK(pair.train.size() == 4000);
  CHECK(pair.test.size() == 1000);
  CHECK(pair.train.classes == 2);
  for (const Dataset* part : {&pair.train, &pair.test}) {
    std::map<std::uint32_t, std::map<int, std::size_t>> octants;  // of a client: how many rows in each
    for (std::size_t row = 0; row < part->size(); ++row) {
      const float* x = &part->features[row * 3];
      int octant = 0;
      for (int i = 0; i < 3; ++i) {
        CHECK(x[i] != 0);
        CHECK(std::abs(x[i]) <= 1);
        octant += x[i] > 0 ? 1 << i : 0;
      }
      CHECK(part->labels[row] == (x[0] > 0 ? 0 : 1));
      ++octants[part->clients[row]][octant];
    }
    REQUIRE(octants.size() == 4);
    std::set<int> all;
    for (const auto& [client, counts] : octants) {
      REQUIRE(counts.size() == 2);
      CHECK(counts.begin()->first + counts.rbegin()->first == 7);  // every sign is the other's opposite
      for (const auto& [octant, count] : counts) {
        CHECK(count == part->size() / 8);
        all.insert(octant);
      }
    }
    CHECK(all.size() == 8);
  }
}

TEST_CASE("points are uniform in their octants: means 1/2 and variances 1/12 of the coordinates' sizes") {
  const Dataset data = load_fcube({}).train;
  for (std::size_t i = 0; i < 3; ++i) {
    double mean = 0, square = 0;
    for (std::size_t row = 0; row < data.size(); ++row) {
      const double size = std::abs(data.features[row * 3 + i]);
      mean += size / static_cast<double>(data.size());
      square += size * size / static_cast<double>(data.size());
    }
    CHECK(std::abs(mean - 0.5) < 4 * std::sqrt(1.0 / 12 / 4000));
    CHECK(square - mean * mean == doctest::Approx(1.0 / 12).epsilon(0.06));
  }
}

}  // namespace fedstride::test::fcube_test
