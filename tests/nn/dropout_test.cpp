#include "nn/dropout.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/random.hpp"

namespace fedstride::test::dropout_test {

TEST_CASE("a dropout mask is its stream's words against the rate, wherever it begins") {
  const BatchAddress address{.seed = 42, .round = 3, .client = 5, .step = 7};
  const Row row = 11;
  RandomStream stream(42, {.purpose = Purpose::dropout, .round = 3, .client = 5, .step = 7, .row = row});
  std::vector<std::uint32_t> words(1000);
  for (auto& word : words) word = stream();
  for (const std::size_t first : {0, 4, 128, 300}) {
    std::vector<float> mask(613);
    dropout_mask(address, row, first, 0.25, mask);
    bool same = true;
    for (std::size_t i = 0; i < mask.size(); ++i)
      same = same && mask[i] == (words[first + i] < 0x40000000U ? 0.0F : static_cast<float>(1 / 0.75));
    CAPTURE(first);
    CHECK(same);
  }
}

TEST_CASE("a dropout mask drops its rate's share") {
  std::vector<float> mask(100'000);
  dropout_mask({.seed = 1}, 0, 0, 0.3, mask);
  const auto dropped = std::count(mask.begin(), mask.end(), 0.0F);
  CHECK(dropped > 30'000 - 5 * 145);  // the binomial's standard deviation is 145
  CHECK(dropped < 30'000 + 5 * 145);
  dropout_mask({.seed = 1}, 0, 0, 0, mask);
  CHECK(std::count(mask.begin(), mask.end(), 1.0F) == 100'000);
}

TEST_CASE("each dropout layer of a model has words of its own") {
  // 3 x 3 x 5 = 45 values, rounded up to 48; 30 values, to 32.
  const auto model = Model::parse("dropout 0.5 | dense 30 | dropout 0.5 | relu | dropout 0.5 | dense classes", {3, 3, 5}, 10);
  CHECK(dropout_first_word(model, 0) == 0);
  CHECK(dropout_first_word(model, 2) == 48);
  CHECK(dropout_first_word(model, 4) == 80);
}

TEST_CASE("rows, steps, clients and rounds have different masks") {
  const BatchAddress address{.seed = 1, .round = 1, .client = 1, .step = 1};
  std::vector<float> mask(64), other(64);
  dropout_mask(address, 1, 0, 0.5, mask);
  const auto differs = [&](BatchAddress changed, Row row) {
    dropout_mask(changed, row, 0, 0.5, other);
    return mask != other;
  };
  CHECK_FALSE(differs(address, 1));
  CHECK(differs(address, 2));
  CHECK(differs({2, 1, 1, 1}, 1));
  CHECK(differs({1, 2, 1, 1}, 1));
  CHECK(differs({1, 1, 2, 1}, 1));
  CHECK(differs({1, 1, 1, 2}, 1));
}

}  // namespace fedstride::test::dropout_test
