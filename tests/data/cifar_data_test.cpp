#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "data/official.hpp"
#include "tests/data/files.hpp"
#include "tests/support/skip.hpp"

namespace fedstride::test::cifar_data_test {
namespace {

std::array<double, 3> channel_means(const Dataset& data) {
  std::array<double, 3> means{};
  for (std::size_t i = 0; i < data.pixels.size(); ++i) means[i % 3072 / 1024] += data.pixels[i];
  for (auto& mean : means) mean /= 255.0 * 1024 * static_cast<double>(data.size());
  return means;
}

}  // namespace

TEST_CASE("CIFAR-10: 5000 training and 1000 test pictures a class, the channel means that everybody uses") {
  if (!is_here("cifar10")) FEDSTRIDE_SKIP("no CIFAR-10 in $FEDSTRIDE_DATA");
  const DataPair pair = load_dataset("cifar10", {});
  REQUIRE(pair.train.size() == 50'000);
  REQUIRE(pair.test.size() == 10'000);
  for (Label label = 0; label < 10; ++label) {
    CHECK(std::count(pair.train.labels.begin(), pair.train.labels.end(), label) == 5000);
    CHECK(std::count(pair.test.labels.begin(), pair.test.labels.end(), label) == 1000);
  }
  const auto means = channel_means(pair.train);
  for (std::size_t c = 0; c < 3; ++c) CHECK(means[c] == doctest::Approx(pair.train.mean[c]).epsilon(0.001));
  CHECK(pair.train.labels[0] == 6);  // a frog, a truck, a truck
  CHECK(pair.train.labels[1] == 9);
  CHECK(pair.train.labels[2] == 9);
}

TEST_CASE("CIFAR-100: a part of the set loads and is said not to be official, the whole set may be") {
  if (!is_here("cifar100")) FEDSTRIDE_SKIP("no CIFAR-100 in $FEDSTRIDE_DATA");
  const DataPair pair = load_dataset("cifar100", {});
  CHECK(pair.train.classes == 100);
  CHECK(*std::max_element(pair.train.labels.begin(), pair.train.labels.end()) == 99);
  const std::string text = verify_dataset("cifar100", {});
  if (pair.train.size() < 50'000)
    CHECK(text == "readable, not official, " + std::to_string(pair.train.size() + pair.test.size()) + " records (" +
                      std::to_string(pair.train.size()) + " training, " + std::to_string(pair.test.size()) +
                      " test); not as published: train.bin, test.bin; to replace: fedstride data get cifar100 --replace");
  else
    CHECK(text.find("60000 records (50000 training, 10000 test)") != std::string::npos);
}

}  // namespace fedstride::test::cifar_data_test
