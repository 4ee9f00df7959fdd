#include "data/built_in.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "data/datasets.hpp"

namespace fedstride::test::synthetic_test {

TEST_CASE("the built-in set has the same bytes everywhere") {
  const DataPair pair = load_dataset("synthetic", {});
  CHECK(pair.hash == "f86e95ab26cd6704856cd04060d2ec91f2b9db8b0bc9970da2795714402a0722");
  CHECK(pair.train.size() == 10'000);
  CHECK(pair.test.size() == 2'000);
  CHECK(pair.train.shape == Shape{32, 32, 3});
}

TEST_CASE("a shorter built-in set is a prefix of a longer one, and the parts are different pictures") {
  const Dataset longer = make_synthetic(SyntheticPart::train, 40);
  const Dataset shorter = make_synthetic(SyntheticPart::train, 20);
  const Dataset test = make_synthetic(SyntheticPart::test, 20);
  CHECK(std::equal(shorter.pixels.begin(), shorter.pixels.end(), longer.pixels.begin()));
  CHECK(test.pixels != shorter.pixels);
}

TEST_CASE("the built-in set's ten classes are balanced") {
  const Dataset data = make_synthetic(SyntheticPart::test, 200);
  for (Label label = 0; label < 10; ++label) CHECK(std::count(data.labels.begin(), data.labels.end(), label) == 20);
  CHECK(data.class_names.size() == 10);
}

TEST_CASE("both classes of a pair have the same mean picture; pairs differ in color") {
  constexpr std::size_t kRows = 3000;
  const Dataset data = make_synthetic(SyntheticPart::train, kRows);
  double mean[10][3][16] = {};  // per class and channel, over blocks of 8x8 pixels
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t i = 0; i < 3072; ++i)
      mean[data.labels[row]][i / 1024][i % 1024 / 256 * 4 + i % 32 / 8] += data.pixels[row * 3072 + i] / (kRows / 10.0 * 64);
  for (std::size_t pair = 0; pair < 5; ++pair)
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t block = 0; block < 16;
           ++block)  // 300 pictures a class, deviation of a block about 37: 3 for the difference
        CHECK(std::abs(mean[2 * pair][c][block] - mean[2 * pair + 1][c][block]) < 13);
  for (std::size_t a = 0; a < 5; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      double distance = 0;
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t block = 0; block < 16; ++block) distance += std::abs(mean[2 * a][c][block] - mean[2 * b][c][block]) / 48;
      CHECK(distance > 8);
    }
}

}  // namespace fedstride::test::synthetic_test
