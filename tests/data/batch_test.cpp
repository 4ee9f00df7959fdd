#include "data/batch.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "tests/data/files.hpp"

namespace fedstride::test::batch_test {
namespace {

/// Pictures whose pixel at (channel c, row y, column x) of picture p is 1 + (5 p + 60 c + 6 y + x) mod 250: none black.
Dataset pictures(int count, Shape shape = {6, 5, 3}) {
  Dataset data;
  data.shape = shape;
  for (int p = 0; p < count; ++p) {
    data.labels.push_back(static_cast<Label>(p % 7));
    for (int c = 0; c < shape.channels; ++c)
      for (int y = 0; y < shape.height; ++y)
        for (int x = 0; x < shape.width; ++x)
          data.pixels.push_back(static_cast<std::uint8_t>(1 + (5 * p + 60 * c + 6 * y + x) % 250));
  }
  data.mean.assign(static_cast<std::size_t>(shape.channels), 0.25F);
  data.deviation.assign(static_cast<std::size_t>(shape.channels), 0.5F);
  return data;
}

std::vector<float> batch(const Dataset& data, const std::vector<Row>& rows, Augmentation augmentation, std::uint32_t step = 0) {
  std::vector<float> out(rows.size() * data.shape.size());
  fill_batch(data, rows, augmentation, {.seed = 3, .round = 1, .client = 2, .step = step}, out);
  return out;
}

std::vector<float> part(const std::vector<float>& values, std::size_t index, std::size_t size) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

/// Byte of a normalized value with mean 0.25 and deviation 0.5.
int byte_of(float value) { return static_cast<int>(std::lround((value * 0.5 + 0.25) * 255)); }

}  // namespace

TEST_CASE("pictures come out channels innermost, (value / 255 - mean) / deviation per channel") {
  Dataset data = pictures(3);
  data.mean = {0.1F, 0.2F, 0.3F};
  data.deviation = {0.5F, 0.25F, 2};
  const auto out = batch(data, {2, 0}, Augmentation::none);
  const std::vector<Row> rows{2, 0};
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t y = 0; y < 6; ++y)
      for (std::size_t x = 0; x < 5; ++x)
        for (std::size_t c = 0; c < 3; ++c) {
          const double value = data.pixels[rows[i] * 90 + c * 30 + y * 5 + x] / 255.0;
          CHECK(out[i * 90 + (y * 5 + x) * 3 + c] == doctest::Approx((value - data.mean[c]) / data.deviation[c]).epsilon(1e-5));
        }
}

TEST_CASE("grey pictures and pictures of two and four channels are normalized too") {
  for (const int channels : {1, 2, 4}) {
    const Dataset data = pictures(1, {2, 3, channels});
    const auto out = batch(data, {0}, Augmentation::none);
    for (std::size_t pixel = 0; pixel < 6; ++pixel)
      for (int c = 0; c < channels; ++c) CHECK(byte_of(out[pixel * channels + c]) == data.pixels[c * 6 + pixel]);
  }
}

TEST_CASE("features are (value - mean) / deviation per column") {
  Dataset data;
  data.shape = {1, 1, 2};
  data.features = {1, 10, 3, 30};
  data.labels = {0, 1};
  data.mean = {2, 20};
  data.deviation = {0.5F, 5};
  CHECK(batch(data, {1, 0}, Augmentation::none) == std::vector<float>{2, 2, -2, -2});
  CHECK_USAGE_ERROR(batch(data, {0}, Augmentation::crop_flip), "augment", "crop-flip");
}

TEST_CASE("labels are those of the rows") {
  const Dataset data = pictures(9);
  AnswerRoom room;
  const auto labels = room.read(data, std::vector<Row>{8, 0, 3}).labels;
  CHECK(std::vector<Label>(labels.begin(), labels.end()) == std::vector<Label>{1, 0, 3});
}

TEST_CASE("another row in the batch shifts nobody's crop or flip") {
  const Dataset data = pictures(8);
  const auto alone = batch(data, {1, 4, 6}, Augmentation::crop_flip);
  const auto more = batch(data, {0, 4, 3, 6, 1}, Augmentation::crop_flip);
  CHECK(part(alone, 0, 90) == part(more, 4, 90));
  CHECK(part(alone, 1, 90) == part(more, 1, 90));
  CHECK(part(alone, 2, 90) == part(more, 3, 90));
}

TEST_CASE("crop-flip shifts by up to four pixels each way, fills with black and mirrors: each of the 162 as often") {
  // The result of each of the 9 x 9 x 2 choices for the picture, by the definition.
  const Dataset data = pictures(1, {9, 7, 1});
  std::map<std::vector<int>, std::tuple<int, int, bool>> possible;
  for (int dy = -4; dy <= 4; ++dy)
    for (int dx = -4; dx <= 4; ++dx)
      for (const bool flip : {false, true}) {
        std::vector<int> made;
        for (int y = 0; y < 9; ++y)
          for (int x = 0; x < 7; ++x) {
            const int from_y = y + dy;
            const int from_x = (flip ? 6 - x : x) + dx;
            const bool inside = from_y >= 0 && from_y < 9 && from_x >= 0 && from_x < 7;
            made.push_back(inside ? data.pixels[static_cast<std::size_t>(from_y * 7 + from_x)] : 0);
          }
        possible[made] = {dx, dy, flip};
      }
  REQUIRE(possible.size() == 162);

  std::map<std::vector<int>, int> seen;
  constexpr int kDraws = 16200;
  for (std::uint32_t step = 0; step < kDraws; ++step) {
    std::vector<int> bytes;
    for (const float value : batch(data, {0}, Augmentation::crop_flip, step)) bytes.push_back(byte_of(value));
    REQUIRE(possible.contains(bytes));
    ++seen[bytes];
  }
  CHECK(seen.size() == 162);
  double chi_squared = 0;  // 161 degrees of freedom: mean 161, standard deviation 18
  for (const auto& [bytes, count] : seen) chi_squared += (count - 100.0) * (count - 100.0) / 100;
  CHECK(chi_squared < 161 + 5 * 18);
}

TEST_CASE("each picture, step, client, round and seed has a crop of its own") {
  const Dataset data = pictures(1, {9, 7, 1});
  const auto at = [&](const BatchAddress& address) {
    std::set<std::vector<float>> different;
    for (std::uint32_t k = 0; k < 3; ++k) {  // three steps: no chance of meeting all by accident
      std::vector<float> out(63);
      BatchAddress moved = address;
      moved.step += k;
      fill_batch(data, std::vector<Row>{0}, Augmentation::crop_flip, moved, out);
      different.insert(out);
    }
    return different;
  };
  const auto first = at({1, 1, 1, 1});
  CHECK(first == at({1, 1, 1, 1}));
  CHECK(first != at({2, 1, 1, 1}));
  CHECK(first != at({1, 2, 1, 1}));
  CHECK(first != at({1, 1, 2, 1}));
  CHECK(first != at({1, 1, 1, 4}));
}

}  // namespace fedstride::test::batch_test
