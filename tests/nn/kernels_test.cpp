#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "core/simd.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/kernels/conv.hpp"
#include "nn/kernels/softmax.hpp"
#include "nn/kernels/winograd.hpp"

namespace fedstride::test::kernels_test {
namespace {

float lane(Lanes value, int i) { return value[i]; }

template <class Function>
float at(Function&& function, float x) {
  return function(broadcast(x))[0];
}

Buffer<float> random_values(std::size_t size, std::uint32_t number) {
  RandomStream random(7, {.purpose = Purpose::test, .client = number});
  Buffer<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(random.normal());
  return values;
}

}  // namespace

TEST_CASE("e^x is right to 3e-7 over its range, and 0 far below it") {
  for (float x = -87; x < 88; x += 0.173F)
    CHECK(at([](Lanes v) { return exp(v); }, x) == doctest::Approx(std::exp(static_cast<double>(x))).epsilon(3e-7));
  CHECK(at([](Lanes v) { return exp(v); }, 0) == 1);
  CHECK(at([](Lanes v) { return exp(v); }, -1000) == 0);
  CHECK(std::isnan(at([](Lanes v) { return exp(v); }, NAN)));
}

TEST_CASE("tanh x is right to 3e-7 and odd") {
  for (float x = -12; x < 12; x += 0.0371F) {
    const float y = at([](Lanes v) { return tanh(v); }, x);
    CHECK(std::abs(y - std::tanh(static_cast<double>(x))) <= 3e-7 * std::abs(std::tanh(static_cast<double>(x))) + 1e-12);
    CHECK(at([](Lanes v) { return tanh(v); }, -x) == -y);
  }
}

TEST_CASE("the first lanes are loaded and stored without touching what lies behind") {
  for (int count = 0; count <= kLanes; ++count) {
    std::vector<float> from(static_cast<std::size_t>(count), 3.0F);  // exactly as long: a sanitizer would see more
    const Lanes value = load_first(from.data(), count);
    std::vector<float> to(kLanes, -1.0F);
    store_first(to.data(), value, count);
    for (int i = 0; i < kLanes; ++i) {
      CHECK(lane(value, i) == (i < count ? 3.0F : 0.0F));
      CHECK(to[static_cast<std::size_t>(i)] == (i < count ? 3.0F : -1.0F));
    }
  }
}

TEST_CASE("transposing swaps rows and lanes; packed sums add up each row's lanes") {
  Lanes rows[kLanes];
  for (int i = 0; i < kLanes; ++i)
    for (int j = 0; j < kLanes; ++j) rows[i][j] = static_cast<float>(100 * i + j);
  transpose(rows);
  for (int i = 0; i < kLanes; ++i)
    for (int j = 0; j < kLanes; ++j) CHECK(lane(rows[i], j) == static_cast<float>(100 * j + i));

  constexpr int kRows = kLanes + 3;
  Lanes some[kRows];
  for (int i = 0; i < kRows; ++i) some[i] = broadcast(static_cast<float>(i));
  Lanes packed[2];
  packed_sums<kRows>(some, packed);
  for (int i = 0; i < kRows; ++i) CHECK(lane(packed[i / kLanes], i % kLanes) == static_cast<float>(kLanes * i));
}

TEST_CASE("softmax of large and equal scores: loss ln 3, gradient 1/3 and -2/3") {
  const Buffer<float> scores = [] {
    Buffer<float> values(16);
    std::fill_n(values.data(), 3, 5000.0F);
    return values;
  }();
  Buffer<float> gradient(16);
  const RowLoss row = softmax_row(scores.data(), 3, 1, 0.5F, gradient.data());
  CHECK(row.loss == doctest::Approx(std::log(3.0)).epsilon(1e-12));
  CHECK(row.predicted == 0);
  CHECK(gradient[0] == doctest::Approx(0.5 / 3));
  CHECK(gradient[1] == doctest::Approx(0.5 / 3 - 0.5));
  CHECK(gradient[3] == 0);
}

TEST_CASE("softmax of NaN scores is NaN") {
  Buffer<float> scores(16);
  scores[0] = NAN;
  CHECK(std::isnan(softmax_row(scores.data(), 4, 1, 1, nullptr).loss));
  scores[0] = 0;
  scores[2] = NAN;
  CHECK(std::isnan(softmax_row(scores.data(), 4, 1, 1, nullptr).loss));
}

TEST_CASE("Winograd's convolution agrees with the direct one to 2e-6 of the outputs' size, edges and groups included") {
  for (const Shape output : {Shape{12, 12, 64}, Shape{5, 9, 33}, Shape{4, 4, 16}, Shape{28, 30, 20}}) {
    const ConvShape shape{.input = {output.height + 2, output.width + 2, 32}, .output = output, .kernel = 3};
    REQUIRE(winograd_fits(shape));
    const std::size_t padded = whole_lanes(static_cast<std::size_t>(output.channels));
    const auto size = static_cast<std::size_t>(shape.filter_size());
    const auto weights = random_values(size * output.channels, 1);
    const auto bias = random_values(padded, 2);
    Buffer<float> packed(size * padded);
    pack_filters(weights.data(), output.channels, shape.filter_size(), packed.data());
    const Winograd winograd(shape);
    Buffer<float> filters(winograd.filters_size()), scratch(winograd.scratch_size());
    Buffer<float> outputs(winograd.group() * winograd.output_size());
    winograd.transform_filters(packed.data(), filters.data());
    std::vector<Buffer<float>> pictures;
    std::vector<const float*> inputs;
    for (int i = 0; i < winograd.group(); ++i) {
      pictures.push_back(random_values(shape.input.size(), static_cast<std::uint32_t>(10 + i)));
      inputs.push_back(pictures.back().data());
    }
    std::vector<float*> to;
    for (int i = 0; i < winograd.group(); ++i) to.push_back(outputs.data() + i * winograd.output_size());
    CHECK(winograd.is_gapless() ==
          (output.height % 4 == 0 && output.width % 4 == 0 && padded == static_cast<std::size_t>(output.channels)));
    winograd.forward(inputs.data(), winograd.group(), filters.data(), bias.data(), scratch.data(), to.data());
    double error = 0, total = 0;
    Buffer<float> row(output.width * padded);
    for (int i = 0; i < winograd.group(); ++i) {
      for (int y = 0; y < output.height; ++y) {
        conv_row(shape, inputs[static_cast<std::size_t>(i)], packed.data(), bias.data(), y, row.data());
        const float* fast = to[static_cast<std::size_t>(i)] + y * winograd.output_pitch();
        for (std::size_t k = 0; k < row.size(); ++k) {
          error += (fast[k] - row[k]) * (fast[k] - row[k]);
          total += row[k] * row[k];
        }
      }
    }
    CHECK(std::sqrt(error / total) < 2e-6);
  }
}

TEST_CASE("spots: zeros and what a ReLU stopped are left out, each filter's in order of place, neighbors' sums kept") {
  constexpr int kChannels = 19, kWidth = 5, kPlaces = 23;
  // Windows of 3 x 3 a step of 2 apart, so that neighbors may share a winner; of 1, so that three may; and none.
  struct Case {
    std::size_t step;
    bool pooled;
  };
  for (const Case windows : {Case{2, true}, Case{1, true}, Case{2, false}}) {
    CAPTURE(windows.step);
    CAPTURE(windows.pooled);
    RandomStream random(3, {.purpose = Purpose::test});
    Buffer<float> gradients(kPlaces * kChannels), values(kPlaces * kChannels);
    const std::size_t padded = whole_lanes(kChannels);
    Buffer<std::uint8_t> winners(kPlaces * padded);
    Buffer<std::uint32_t> bases(kPlaces), shifts(16);
    for (int i = 0; i < 9; ++i) shifts[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(i / 3 * 100 + i % 3);
    for (std::size_t p = 0; p < kPlaces; ++p) {
      bases[p] = static_cast<std::uint32_t>(p / kWidth * 200 + p % kWidth * windows.step);
      for (std::size_t c = 0; c < kChannels; ++c) {
        gradients[p * kChannels + c] = random.below(3) == 0 ? 0.0F : static_cast<float>(random.below(100));
        values[p * kChannels + c] = random.below(3) == 0 ? 0.0F : 1.0F;
        winners[p * padded + c] = static_cast<std::uint8_t>(random.below(9));
      }
    }
    const std::size_t capacity = spot_capacity(kPlaces);
    Buffer<std::uint32_t> sources(capacity * kChannels);
    Buffer<float> listed(capacity * kChannels);
    Buffer<int> counts(kChannels);
    list_spots(gradients.data(), values.data(), bases.data(), windows.pooled ? winners.data() : nullptr, shifts.data(),
               windows.pooled ? 9 : 1, kPlaces, kWidth, kChannels, {sources.data(), listed.data(), counts.data(), capacity});
    for (std::size_t c = 0; c < kChannels; ++c) {
      std::vector<float> expected(2000), actual(2000);
      int places = 0;
      for (std::size_t p = 0; p < kPlaces; ++p) {
        if (!(values[p * kChannels + c] > 0) || gradients[p * kChannels + c] == 0) continue;
        expected[bases[p] + (windows.pooled ? shifts[winners[p * padded + c]] : 0)] += gradients[p * kChannels + c];
        ++places;
      }
      CHECK(counts[c] <= places);
      for (int i = 0; i < counts[c]; ++i) {
        const std::size_t spot = c * capacity + static_cast<std::size_t>(i);
        CHECK(listed[spot] != 0);
        actual[sources[spot]] += listed[spot];
      }
      CHECK(actual == expected);
    }
  }
}

}  // namespace fedstride::test::kernels_test
