#include <doctest/doctest.h>

#include <map>
#include <string_view>

#include "partitions/from_file.hpp"
#include "partitions/manifest.hpp"
#include "partitions/own_rows.hpp"
#include "partitions/partitions.hpp"
#include "tests/partitions/examples.hpp"

namespace fedstride::test::golden_test {

// Recorded with version 0.1.0. A partition is part of every published result: whoever changes one of these changes what
// a seed means, and says so in the release notes.
TEST_CASE("1,000 rows of ten classes over five clients at seed 42 lie where they always lay") {
  const std::map<std::string_view, std::string_view> golden = {
      {"pathological", "06a61457233fc419012f9eec7202be8cd19395c918f01b2aa2ae9f33c6c1745f"},
      {"iid", "79d800f112df6bf149e34adac00ee0a52d2af4ed9c36a67db89d89177dd4490a"},
      {"interpolated", "c285d77ce441e39d06213fc8973e46760d6f0684dc71cc3760140559a88d0025"},
      {"shards", "9b8bb4fbe2489ac0d1e0b565e345f08a54ac8224990a7f314337e89504eabd70"},
      {"dirichlet", "945abdb5735ddb235f4a18345751e95bbde001ccc6f9627e610722902ed309f6"},
      {"dirichlet-balanced", "95bab655b3d7b22e5663c589742286b67ec8e064d812bbfb67f67f8ff69878cb"},
  };
  Example example(random_labels(1000, 10, 1), 10, 5, 42);
  for (const auto& name : PartitionPart::family().names()) {
    if (name == FromFile::kName || name == OwnRows::kName || name.starts_with("natural")) continue;  // natural_test.cpp
    CAPTURE(name);
    REQUIRE(golden.contains(name));
    Partitioner partitioner;
    partitioner.choose(name);
    CHECK(partition_hash(partitioner->assign(example.input)) == golden.at(name));
  }
}

TEST_CASE("the hash of a small assignment is SHA-256 of counts as 64-bit and rows as 32-bit little-endian numbers") {
  // 2 clients; 1 row: 0; 2 rows: 1, 258. By sha256sum.
  CHECK(partition_hash(Assignment{{0}, {1, 258}}) == "41340aefe429cc0e7a8fd9d50010e5be8b8da8af9ffc5ddbfec8696d484230ee");
}

}  // namespace fedstride::test::golden_test
