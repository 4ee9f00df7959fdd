// Kernels against scalar programs of their definition, bit for bit: what adds up along a vector has 16 lanes on every processor.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "core/simd.hpp"
#include "nn/kernels/buffer.hpp"
#include "nn/kernels/conv.hpp"
#include "nn/kernels/dense.hpp"
#include "nn/kernels/sequences.hpp"
#include "nn/kernels/softmax.hpp"
#include "nn/kernels/squares.hpp"

namespace fedstride::test::lanes_test {
namespace {

float fused(float a, float b, float c) { return kFused ? std::fma(a, b, c) : a * b + c; }

struct Scalar {
  float lanes[16] = {};

  /// Halves first: i + (i + 8), then 4, 2 and 1 apart.
  float sum() const {
    float sums[16];
    std::ranges::copy(lanes, sums);
    for (int step = 8; step > 0; step /= 2)
      for (int i = 0; i < step; ++i) sums[i] += sums[i + step];
    return sums[0];
  }
};

Buffer<float> random_values(std::size_t size, std::uint32_t number) {
  RandomStream random(11, {.purpose = Purpose::test, .client = number});
  Buffer<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(random.normal());
  return values;
}

/// Rows of `size` random values, zeros after them.
struct RandomRows {
  RandomRows(int rows, int size, std::uint32_t number) : values(rows * row_stride(static_cast<std::size_t>(size))) {
    const std::size_t stride = row_stride(static_cast<std::size_t>(size));
    const Buffer<float> from = random_values(static_cast<std::size_t>(rows * size), number);
    for (int r = 0; r < rows; ++r) std::copy_n(from.data() + r * size, size, values.data() + r * stride);
    view = {values.data(), stride};
  }
  Buffer<float> values;
  Rows view;
};

}  // namespace

TEST_CASE("data gradients add up outputs in 16 lanes, for any number of rows, inputs and outputs") {
  for (const int rows : {1, 2, 5, 6, 7, 12, 13, 30})
    for (const int inputs : {1, 2, 5})
      for (const int outputs : {1, 3, 8, 15, 16, 17, 31, 40, 100}) {
        CAPTURE(rows);
        CAPTURE(inputs);
        CAPTURE(outputs);
        const RandomRows dy(rows, outputs, 1), x(rows, inputs, 2);
        const Buffer<float> w = random_values(static_cast<std::size_t>(inputs * outputs), 3);
        RandomRows dx(rows, inputs, 4), fused_dx(rows, inputs, 4);
        Buffer<float> dw(static_cast<std::size_t>(inputs * outputs) + 64);
        dense_data_gradient(dy.view, rows, w.data(), outputs, dx.view, 0, inputs);
        dense_both_gradients(x.view, dy.view, rows, w.data(), outputs, fused_dx.view, 0, inputs, dw.data());
        bool equal = true, equal_weights = true;
        for (int r = 0; r < rows; ++r)
          for (int i = 0; i < inputs; ++i) {
            Scalar total;
            for (int o = 0; o < outputs; ++o)
              total.lanes[o % 16] = fused(dy.view[r][o], w[static_cast<std::size_t>(i * outputs + o)], total.lanes[o % 16]);
            equal = equal && dx.view[r][i] == total.sum() && fused_dx.view[r][i] == total.sum();
          }
        for (int i = 0; i < inputs; ++i)
          for (int o = 0; o < outputs; ++o) {
            float sum = 0;
            for (int r = 0; r < rows; ++r) sum = fused(x.view[r][i], dy.view[r][o], sum);
            equal_weights = equal_weights && dw[static_cast<std::size_t>(i * outputs + o)] == sum;
          }
        CHECK(equal);
        CHECK(equal_weights);
      }
}

TEST_CASE("squared norms add up 4 times 8 lanes of doubles") {
  for (const std::size_t size : {0, 1, 7, 8, 9, 31, 32, 33, 100, 1000}) {
    const Buffer<float> values = random_values(size, 5);
    double lanes[4][8] = {};
    std::size_t i = 0;
    const auto add = [&](std::size_t k) {
      for (std::size_t lane = 0; lane < 8; ++lane, ++i) {
        const auto value = static_cast<double>(values[i]);
        lanes[k][lane] += value * value;
      }
    };
    while (i + 32 <= size)
      for (std::size_t k = 0; k < 4; ++k) add(k);
    while (i + 8 <= size) add(0);
    double total = 0;
    for (std::size_t lane = 0; lane < 8; ++lane) total += (lanes[0][lane] + lanes[1][lane]) + (lanes[2][lane] + lanes[3][lane]);
    for (; i < size; ++i) total += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    CHECK(squared_norm(values.data(), size) == total);
  }
}

TEST_CASE("softmax adds up 16 lanes of powers") {
  for (const int classes : {1, 2, 10, 16, 17, 47, 100}) {
    CAPTURE(classes);
    const Buffer<float> scores = random_values(static_cast<std::size_t>(classes) + 16, 6);
    Buffer<float> gradient(static_cast<std::size_t>(classes) + 16);
    softmax_row(scores.data(), classes, 0, 1.0F, gradient.data());
    const float largest = *std::max_element(scores.data(), scores.data() + classes);
    Scalar total;
    std::vector<float> powers;
    for (int c = 0; c < classes; ++c) {
      powers.push_back(exp(broadcast(scores[static_cast<std::size_t>(c)] - largest))[0]);
      total.lanes[c % 16] += powers.back();
    }
    for (int c = 1; c < classes; ++c)
      CHECK(gradient[static_cast<std::size_t>(c)] == powers[static_cast<std::size_t>(c)] * (1.0F / total.sum()));
  }
}

TEST_CASE("attention adds up a head's values in 16 lanes and positions in order, and looks at no later position") {
  for (const int length : {1, 2, 11, 12, 13, 40})
    for (const int size : {3, 16, 20, 32}) {
      CAPTURE(length);
      CAPTURE(size);
      const int heads = 2, all = heads * size;
      const RandomRows input(length, 3 * all, 7), d_output(length, all, 8);
      RandomRows output(length, all, 9), d_input(length, 3 * all, 10);
      Buffer<float> weights(static_cast<std::size_t>(heads * length * length)),
          scratch(static_cast<std::size_t>(length * length));
      const AttentionShape shape{length, all, heads, input.view.stride, output.view.stride};
      attention_forward(shape, input.view.data, weights.data(), output.view.data);
      attention_backward(shape, input.view.data, weights.data(), d_output.view.data, scratch.data(), d_input.view.data);
      int others = 0;
      for (int head = 0; head < heads; ++head) {
        const auto at = [&](int part, int t, int j) { return input.view[t][part * all + head * size + j]; };
        const auto d_at = [&](int part, int t, int j) { return d_input.view[t][part * all + head * size + j]; };
        const auto d_out = [&](int t, int j) { return d_output.view[t][head * size + j]; };
        const auto dot = [&](auto&& a, auto&& b) {
          Scalar total;
          for (int j = 0; j < size; ++j) total.lanes[j % 16] = fused(a(j), b(j), total.lanes[j % 16]);
          return total.sum();
        };
        const float factor = 1 / std::sqrt(static_cast<float>(size));
        std::vector<std::vector<float>> shares(static_cast<std::size_t>(length)), d_scores(static_cast<std::size_t>(length));
        for (int t = 0; t < length; ++t) {
          std::vector<float>& share = shares[static_cast<std::size_t>(t)];
          std::vector<float>& d_score = d_scores[static_cast<std::size_t>(t)];
          for (int s = 0; s <= t; ++s)
            share.push_back(factor * dot([&](int j) { return at(0, t, j); }, [&](int j) { return at(1, s, j); }));
          const float largest = *std::ranges::max_element(share);
          Scalar total;
          for (std::size_t s = 0; s < share.size(); ++s) {
            share[s] = exp(broadcast(share[s] - largest))[0];
            total.lanes[s % 16] += share[s];
          }
          for (float& each : share) each *= 1 / total.sum();
          float mean = 0;
          for (int s = 0; s <= t; ++s) {
            d_score.push_back(dot([&](int j) { return d_out(t, j); }, [&](int j) { return at(2, s, j); }));
            mean = fused(share[static_cast<std::size_t>(s)], d_score.back(), mean);
          }
          for (std::size_t s = 0; s < share.size(); ++s) d_score[s] = factor * share[s] * (d_score[s] - mean);
        }
        const auto mixed = [&](const auto& of, int first, int last, auto&& value, auto&& place) {
          float sum = 0;
          for (int k = first; k <= last; ++k) {
            const auto [row, column] = place(k);
            sum = fused(value(k), of[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)], sum);
          }
          return sum;
        };
        for (int t = 0; t < length; ++t)
          for (int j = 0; j < size; ++j) {
            const auto earlier = [&](int s) { return std::pair(t, s); };
            const auto later = [&](int k) { return std::pair(k, t); };
            others += output.view[t][head * size + j] != mixed(
                                                             shares, 0, t, [&](int s) { return at(2, s, j); }, earlier);
            others += d_at(0, t, j) != mixed(
                                           d_scores, 0, t, [&](int s) { return at(1, s, j); }, earlier);
            others += d_at(1, t, j) != mixed(
                                           d_scores, t, length - 1, [&](int k) { return at(0, k, j); }, later);
            others += d_at(2, t, j) != mixed(
                                           shares, t, length - 1, [&](int k) { return d_out(k, j); }, later);
          }
      }
      CHECK(others == 0);
    }
}

TEST_CASE("filters' gradients add up spots in order, in two sets where a filter is small") {
  struct Case {
    int kernel;
    int channels;
    int sets;
  };
  for (const Case one : {Case{1, 3, 2}, Case{3, 1, 2}, Case{3, 3, 2}, Case{5, 1, 1}, Case{2, 13, 2}, Case{5, 16, 1},
                         Case{3, 33, 1}, Case{5, 64, 1}, Case{7, 1, 2}, Case{7, 40, 1}}) {
    CAPTURE(one.kernel);
    CAPTURE(one.channels);
    const int side = one.kernel + 5;
    const ConvShape shape{.input = {side, side, one.channels}, .output = {6, 6, 1}, .kernel = one.kernel};
    const auto size = static_cast<std::size_t>(shape.filter_size());
    std::vector<Buffer<float>> pictures;
    std::vector<Buffer<float>> gradients;
    std::vector<std::vector<std::uint32_t>> sources(3);
    std::vector<const float*> inputs;
    std::vector<SpotList> lists;
    for (std::uint32_t p = 0; p < 3; ++p) {
      pictures.push_back(random_values(shape.input.size(), 20 + p));
      gradients.push_back(random_values(36, 30 + p));
      for (int place = 0; place < 36; place += 1 + place % 3)
        sources[p].push_back(static_cast<std::uint32_t>(shape.source(place / 6, place % 6)));
      inputs.push_back(pictures.back().data());
      lists.push_back({sources[p].data(), gradients.back().data(), static_cast<int>(sources[p].size())});
    }
    Buffer<float> result = random_values(size, 7);
    const Buffer<float> before = random_values(size, 7);
    conv_filter_gradient(shape, inputs.data(), lists.data(), 3, result.data());
    bool equal = true;
    for (int row = 0; row < one.kernel; ++row)
      for (int k = 0; k < shape.stretch(); ++k) {
        const std::size_t at = static_cast<std::size_t>(row * shape.stretch() + k);
        float sums[2] = {before[at], 0};
        for (std::size_t p = 0; p < 3; ++p)
          for (int i = 0; i < lists[p].count; ++i) {
            // An odd spot at the end goes to the first set.
            const int set = one.sets == 2 && i % 2 == 1 ? 1 : 0;
            sums[set] = fused(lists[p].gradients[i],
                              inputs[p][lists[p].sources[i] + row * shape.pitch() + static_cast<std::size_t>(k)], sums[set]);
          }
        equal = equal && result[at] == (one.sets == 2 ? sums[0] + sums[1] : sums[0]);
      }
    CHECK(equal);
  }
}

TEST_CASE("spots are listed in blocks of 16 places, neighbors of one source added up") {
  constexpr int kChannels = 19, kPlaces = 41;
  for (const int width : {1, 2, 3, 5, 7, 8, 20})
    for (const std::uint32_t step : {0U, 1U, 2U}) {  // windows that share winners: all, three or two in a row
      CAPTURE(width);
      CAPTURE(step);
      const std::size_t padded = whole_lanes(kChannels);
      Buffer<float> gradients = random_values(kPlaces * kChannels, 8);
      const Buffer<float> values = random_values(kPlaces * kChannels, 9);
      for (std::size_t i = 0; i < gradients.size(); i += 5) gradients[i] = 0;
      std::vector<std::uint32_t> bases;
      for (int place = 0; place < kPlaces; ++place)
        bases.push_back(static_cast<std::uint32_t>(place / width) * 40 * (step > 0 ? 1U : 0U) +
                        static_cast<std::uint32_t>(place % width) * step);
      Buffer<std::uint8_t> winners(kPlaces * padded);
      Buffer<std::uint32_t> shifts(16);
      RandomStream random(3, {.purpose = Purpose::test});
      for (std::size_t i = 0; i < winners.size(); ++i) winners[i] = static_cast<std::uint8_t>(random.below(4));
      for (std::uint32_t i = 0; i < 4; ++i) shifts[i] = i / 2 * 40 + i % 2;
      const std::size_t capacity = spot_capacity(kPlaces);
      Buffer<std::uint32_t> sources(kChannels * capacity);
      Buffer<float> listed(kChannels * capacity);
      std::vector<int> counts(kChannels);
      list_spots(gradients.data(), values.data(), bases.data(), winners.data(), shifts.data(), 4, kPlaces, width, kChannels,
                 {sources.data(), listed.data(), counts.data(), capacity});
      bool equal = true;
      for (std::size_t c = 0; c < kChannels; ++c) {
        std::vector<std::uint32_t> expected_sources;
        std::vector<float> expected;
        for (std::size_t first = 0; first < kPlaces; first += 16) {
          float here[16] = {};
          std::uint32_t source[16] = {};
          for (std::size_t i = 0; i < 16 && first + i < kPlaces; ++i) {
            const std::size_t place = first + i;
            here[i] = values[place * kChannels + c] > 0 ? gradients[place * kChannels + c] : 0.0F;
            source[i] = bases[place] + shifts[winners[place * padded + c]];
          }
          for (const std::size_t distance : {std::size_t{1}, static_cast<std::size_t>(width)}) {
            if (distance == static_cast<std::size_t>(width) && width >= 8) continue;
            float after[16];
            std::ranges::copy(here, after);
            const auto joins = [&](std::size_t i) { return i >= distance && source[i] == source[i - distance]; };
            for (std::size_t i = distance; i < 16; ++i)
              if (joins(i) && !joins(i - distance)) {
                after[i] = here[i] + here[i - distance];
                after[i - distance] = 0;
              }
            std::ranges::copy(after, here);
          }
          for (std::size_t i = 0; i < 16; ++i)
            if (here[i] != 0) {
              expected_sources.push_back(source[i]);
              expected.push_back(here[i]);
            }
        }
        equal = equal && counts[c] == static_cast<int>(expected.size()) &&
                std::equal(expected.begin(), expected.end(), listed.data() + c * capacity) &&
                std::equal(expected_sources.begin(), expected_sources.end(), sources.data() + c * capacity);
      }
      CHECK(equal);
    }
}

}  // namespace fedstride::test::lanes_test
