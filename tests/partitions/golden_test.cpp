#include <doctest/doctest.h>

#include <map>
#include <string_view>

#include "partitions/given_sizes.hpp"
#include "partitions/manifest.hpp"
#include "tests/partitions/dealers.hpp"
#include "tests/partitions/examples.hpp"

namespace fedstride::test::golden_test {

namespace {

// Recorded with version 0.1.0, or when the partition was added. A partition is part of every published result: whoever changes one of these changes what
// a seed means, and says so in the release notes.
const std::map<std::string_view, std::string_view> kKnown = {
    {"pathological", "06a61457233fc419012f9eec7202be8cd19395c918f01b2aa2ae9f33c6c1745f"},
    {"label-quantity", "d466d0218f901b8f1243ea42beff96d6af9410ab8734f67c3e791497f0a481cf"},
    {"iid", "79d800f112df6bf149e34adac00ee0a52d2af4ed9c36a67db89d89177dd4490a"},
    {"interpolated", "c285d77ce441e39d06213fc8973e46760d6f0684dc71cc3760140559a88d0025"},
    {"shards", "9b8bb4fbe2489ac0d1e0b565e345f08a54ac8224990a7f314337e89504eabd70"},
    {"dirichlet", "945abdb5735ddb235f4a18345751e95bbde001ccc6f9627e610722902ed309f6"},
    {"dirichlet-capped", "c51708a316ac3aaf7bb22f0aa51e58ea5b84fbf6f4f4d30a886a1d45af3bd57d"},
    {"dirichlet-balanced", "95bab655b3d7b22e5663c589742286b67ec8e064d812bbfb67f67f8ff69878cb"},
    {"dirichlet-sizes", "9f53de21270a1bf8a419c90db94f4e18af46bf2fc5d9f25c3cc1c601f0f9b8e0"},
    {"dirichlet-both", "53abbf5e6a88a977d79c927c3d7670add62ad9be9a7a57d5fbafc25109a9399e"},
    {"inner-dirichlet", "621dfc6117f17d231f234fbc7615c5a6cc3d7096620949e20a3cf0016d8ef22e"},
    {"continuous", "dd3f0a2768bd484adf21dcaf3852496046a6584b7abe851ad114e0e650614977"},
};

}  // namespace

TEST_CASE("1,000 rows of ten classes over five clients at seed 42 lie where they always lay") {
  Example example(random_labels(1000, 10, 1), 10, 5, 42);
  for (const auto& name : PartitionPart::family().names()) {
    if (is_told(name)) continue;
    Partitioner partitioner;
    partitioner.choose(name);
    const std::string hash = partition_hash(partitioner->assign(example.input));
    const auto known = kKnown.find(name);
    CHECK_MESSAGE((known != kKnown.end() && hash == known->second), "partition '", name,
                  "' must have its own line in kKnown of tests/partitions/golden_test.cpp, and keep it: {\"", name, "\", \"",
                  hash, "\"}");
  }
}

TEST_CASE("the same rows by a law of sizes lie where the partition of that name laid them") {
  Example example(random_labels(1000, 10, 1), 10, 5, 42);
  const std::pair<const char*, const char*> known[] = {
      {"linear", "4db71c5575d7277a5364e87a3be83539cca56ed4ccfed7e81e7022936f4e25c7"},
      {"square", "615d9fd46e2cddd1666a22a0b5bd94f2458a714fefc832fbd2aff9b49b6494c3"},
      {"exponential", "27d9bc4d7dff2972509483bbc1e8618b8a194e129a12b23516f00d85b41f4d28"}};
  for (const auto& [law, hash] : known) CHECK(partition_hash(GivenSizes({law}).assign(example.input)) == hash);
}

TEST_CASE("the hash of a small assignment is SHA-256 of counts as 64-bit and rows as 32-bit little-endian numbers") {
  // 2 clients; 1 row: 0; 2 rows: 1, 258. By sha256sum.
  CHECK(partition_hash(Assignment{{0}, {1, 258}}) == "41340aefe429cc0e7a8fd9d50010e5be8b8da8af9ffc5ddbfec8696d484230ee");
}

}  // namespace fedstride::test::golden_test
