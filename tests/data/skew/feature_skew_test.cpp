// Inputs that differ from client to client: what each kind does to an example, and how batches have it.
#include "data/skew/feature_skew.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.hpp"
#include "data/batch.hpp"
#include "data/skew/color.hpp"
#include "data/skew/no_skew.hpp"
#include "data/skew/noise.hpp"
#include "data/skew/rotation.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::feature_skew_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Dataset pictures(std::size_t count, Shape shape) {
  Dataset data;
  data.name = "squares";
  data.shape = shape;
  data.labels.assign(count, 0);
  for (std::size_t i = 0; i < count * shape.size(); ++i) data.pixels.push_back(static_cast<std::uint8_t>(1 + 7 * i % 250));
  data.mean.assign(static_cast<std::size_t>(shape.channels), 0.25F);
  data.deviation.assign(static_cast<std::size_t>(shape.channels), 0.5F);
  return data;
}

Dataset table() {
  Dataset data;
  data.name = "numbers";
  data.shape = {1, 1, 20};
  data.labels.assign(200, 0);
  data.features.assign(4000, 5);
  data.mean.assign(20, 1);
  data.deviation.assign(20, 2);
  return data;
}

std::vector<float> batch(const Dataset& data, const std::vector<Row>& rows, const FeatureSkew& skew, std::uint32_t client,
                         Augmentation augmentation = Augmentation::none, std::uint32_t step = 0, std::uint64_t seed = 3) {
  std::vector<float> out(rows.size() * data.shape.size());
  fill_batch(data, rows, augmentation, {.seed = 8, .round = 1, .client = client, .step = step}, out, {&*skew, seed, client, 4});
  return out;
}

Bytes redrawn(const FeatureSkew& skew, std::uint32_t client, const Bytes& picture, Shape shape) {
  Bytes out(picture.size());
  skew->redraw(client, picture.data(), shape, out.data());
  return out;
}

FeatureSkew color(ColorChange change, double tint = 0.5) {
  ColorSkew skew;
  skew.color = change;
  skew.tint = tint;
  return skew;
}

FeatureSkew noise(double level) {
  NoiseSkew skew;
  skew.noise_level = level;
  return skew;
}

FeatureSkew niid_bench(double level) {
  NoiseSkew skew;
  skew.noise_level = level;
  skew.unit = NoiseUnit::deviation;
  skew.scale = NoiseScale::from_zero;
  skew.drawn = NoiseDrawn::anew;
  skew.on_test = NoiseOnTest::clients;
  return skew;
}

std::vector<float> test_batch(const Dataset& data, const std::vector<Row>& rows, const FeatureSkew& skew) {
  std::vector<float> out(rows.size() * data.shape.size());
  fill_batch(data, rows, Augmentation::none, {}, out, {&*skew, 3, 0, 4, true});
  return out;
}

}  // namespace

TEST_CASE("the default is no skew, and it leaves a batch as it is") {
  const Dataset data = pictures(3, {4, 4, 3});
  CHECK(FeatureSkew{}.name() == "none");
  std::vector<float> plain(2 * data.shape.size());
  fill_batch(data, std::vector<Row>{2, 0}, Augmentation::none, {}, plain);
  CHECK(batch(data, {2, 0}, FeatureSkew{}, 1) == plain);
}

TEST_CASE("client k's pictures make k mod 4 quarter turns counterclockwise") {
  const Bytes picture{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19};  // two channels
  const FeatureSkew skew = RotationSkew{};
  CHECK_FALSE(skew->redraws(0));
  CHECK_FALSE(skew->redraws(4));
  CHECK(redrawn(skew, 1, picture, {3, 3, 2}) == Bytes{3, 6, 9, 2, 5, 8, 1, 4, 7, 13, 16, 19, 12, 15, 18, 11, 14, 17});
  CHECK(redrawn(skew, 6, picture, {3, 3, 2}) == Bytes{9, 8, 7, 6, 5, 4, 3, 2, 1, 19, 18, 17, 16, 15, 14, 13, 12, 11});
  CHECK(redrawn(skew, 3, redrawn(skew, 1, picture, {3, 3, 2}), {3, 3, 2}) == picture);
  RotationSkew two;
  two.rotations = 2;
  CHECK(two.quarter_turns(7) == 1);
}

TEST_CASE("the six clients of a permutation have the channels in lexicographic order; a tint leaves one channel as bright") {
  const Bytes rgb{10, 20, 30};  // a pixel of three channels
  const Bytes orders[] = {{10, 20, 30}, {10, 30, 20}, {20, 10, 30}, {20, 30, 10}, {30, 10, 20}, {30, 20, 10}, {10, 20, 30}};
  for (std::uint32_t client = 0; client < 7; ++client)
    CHECK(redrawn(color(ColorChange::permute), client, rgb, {1, 1, 3}) == orders[client]);
  CHECK(redrawn(color(ColorChange::tint, 0.25), 0, rgb, {1, 1, 3}) == Bytes{10, 15, 23});
  CHECK(redrawn(color(ColorChange::tint, 0.25), 4, rgb, {1, 1, 3}) == Bytes{8, 20, 23});
  CHECK(redrawn(color(ColorChange::tint, 1), 2, rgb, {1, 1, 3}) == Bytes{0, 0, 30});
  const Bytes two{10, 11, 20, 21};
  CHECK(redrawn(color(ColorChange::permute), 3, two, {1, 2, 2}) == Bytes{20, 21, 10, 11});
}

TEST_CASE("a batch of a client has its pictures redrawn, and augmentation works on these") {
  const Dataset data = pictures(2, {6, 6, 3});
  const FeatureSkew skew = RotationSkew{};
  Dataset turned = data;
  for (std::size_t row = 0; row < 2; ++row) {
    const auto at = static_cast<std::ptrdiff_t>(row * data.shape.size());
    const Bytes picture(data.pixels.begin() + at, data.pixels.begin() + at + static_cast<std::ptrdiff_t>(data.shape.size()));
    const Bytes result = redrawn(skew, 3, picture, data.shape);
    std::copy(result.begin(), result.end(), turned.pixels.begin() + at);
  }
  for (const Augmentation augmentation : {Augmentation::none, Augmentation::crop_flip}) {
    CHECK(batch(data, {0, 1}, skew, 3, augmentation) == batch(turned, {0, 1}, FeatureSkew{}, 3, augmentation));
    CHECK(batch(data, {0, 1}, skew, 4, augmentation) == batch(data, {0, 1}, FeatureSkew{}, 4, augmentation));
  }
}

TEST_CASE("client k of K has noise of variance level (k + 1) / K: of pixels from 0 to 1, of columns in deviations") {
  const Dataset squares = pictures(60, {8, 8, 3});
  const Dataset numbers = table();
  std::vector<Row> rows;
  for (Row row = 0; row < 60; ++row) rows.push_back(row);
  for (std::uint32_t client = 0; client < 4; ++client)
    for (const Dataset* data : {&squares, &numbers}) {
      const auto plain = batch(*data, rows, FeatureSkew{}, client);
      const auto noisy = batch(*data, rows, noise(0.2), client);
      double mean = 0, square = 0;
      const double scale = data->is_pictures() ? 0.5 : 1;  // back from what the model sees
      for (std::size_t i = 0; i < plain.size(); ++i) {
        const double added = (noisy[i] - plain[i]) * scale;
        mean += added / static_cast<double>(plain.size());
        square += added * added / static_cast<double>(plain.size());
      }
      const double variance = 0.2 * (client + 1) / 4;
      const auto count = static_cast<double>(plain.size());
      CHECK(std::abs(mean) < 4 * std::sqrt(variance / count));
      CHECK(std::abs(square - variance) < 4 * variance * std::sqrt(2 / count));
    }
}

TEST_CASE("the noise level is a variance or a deviation, and the first client has a part of it or none") {
  const auto noise_of = [](NoiseUnit unit, NoiseScale scale, std::uint32_t client, std::uint32_t clients) {
    NoiseSkew skew;
    skew.noise_level = 0.5;
    skew.unit = unit;
    skew.scale = scale;
    return skew.noise(client, clients);
  };
  CHECK(noise_of(NoiseUnit::variance, NoiseScale::from_one, 0, 5) == doctest::Approx(0.1));
  CHECK(noise_of(NoiseUnit::variance, NoiseScale::from_zero, 0, 5) == 0);
  CHECK(noise_of(NoiseUnit::variance, NoiseScale::from_zero, 1, 5) == doctest::Approx(0.125));
  CHECK(noise_of(NoiseUnit::deviation, NoiseScale::from_one, 1, 5) == doctest::Approx(0.04));
  CHECK(noise_of(NoiseUnit::deviation, NoiseScale::from_zero, 2, 5) == doctest::Approx(0.0625));
  for (const NoiseScale scale : {NoiseScale::from_one, NoiseScale::from_zero})
    CHECK(noise_of(NoiseUnit::deviation, scale, 4, 5) == doctest::Approx(0.25));
  CHECK(noise_of(NoiseUnit::variance, NoiseScale::from_zero, 0, 1) == 0);
}

TEST_CASE("noise that is drawn anew is another in each step and round, is on the padding too, and is the same when read again") {
  for (const Dataset& data : {pictures(5, {4, 4, 1}), table()}) {
    std::set<float> added;
    const auto plain = batch(data, {3}, FeatureSkew{}, 2);
    for (std::uint32_t step = 0; step < 3; ++step) {
      const auto noisy = batch(data, {3}, niid_bench(1), 2, Augmentation::none, step);
      CHECK(noisy == batch(data, {3}, niid_bench(1), 2, Augmentation::none, step));
      added.insert(noisy[0] - plain[0]);
    }
    std::vector<float> next_round(data.shape.size());
    const FeatureSkew skew = niid_bench(1);
    fill_batch(data, std::vector<Row>{3}, Augmentation::none, {.seed = 8, .round = 2, .client = 2}, next_round,
               {&*skew, 3, 2, 4});
    added.insert(next_round[0] - plain[0]);
    CHECK(added.size() == 4);
    CHECK(batch(data, {3}, niid_bench(1), 0) == batch(data, {3}, FeatureSkew{}, 0));  // the first client has none
  }
  const Dataset data = pictures(1, {7, 7, 2});
  const auto noisy = batch(data, {0}, niid_bench(1), 1, Augmentation::crop_flip);
  const auto plain = batch(data, {0}, FeatureSkew{}, 1, Augmentation::crop_flip);
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(noisy[i] != plain[i]);
}

TEST_CASE("test row r has the noise of client r mod K, the same whenever it is read, and no training row's") {
  const Dataset data = pictures(9, {8, 8, 3});
  const auto plain = batch(data, {0, 1, 2, 3, 7}, FeatureSkew{}, 0);
  const auto noisy = test_batch(data, {0, 1, 2, 3, 7}, niid_bench(0.3));
  const std::size_t size = data.shape.size();
  const std::uint32_t clients[] = {0, 1, 2, 3, 3};
  for (std::size_t i = 0; i < 5; ++i) {
    double square = 0;
    for (std::size_t at = i * size; at < (i + 1) * size; ++at) square += std::pow((noisy[at] - plain[at]) * 0.5, 2);
    const double variance = std::pow(0.3 * clients[i] / 3, 2);
    CHECK(std::abs(square / static_cast<double>(size) - variance) <= 5 * variance * std::sqrt(2 / static_cast<double>(size)));
  }
  const auto alone = test_batch(data, {7}, niid_bench(0.3));
  CHECK(std::equal(alone.begin(), alone.end(), noisy.begin() + static_cast<std::ptrdiff_t>(4 * size)));
  CHECK(test_batch(data, {7}, noise(0.3))[0] != batch(data, {7}, noise(0.3), 3)[0]);
  CHECK_FALSE(noise(0.3)->is_on_test());
}

TEST_CASE("an example's noise is the same in every batch and step, and another's, another client's or seed's is another") {
  for (const Dataset& data : {pictures(5, {4, 4, 1}), table()}) {
    const std::size_t size = data.shape.size();
    const auto alone = batch(data, {3}, noise(1), 2);
    const auto among = batch(data, {0, 3, 1}, noise(1), 2, Augmentation::none, 9);
    CHECK(std::equal(alone.begin(), alone.end(), among.begin() + static_cast<std::ptrdiff_t>(size)));
    const auto plain = batch(data, {3}, FeatureSkew{}, 2);
    const auto plain_1 = batch(data, {1}, FeatureSkew{}, 2);
    std::set<float> added;
    added.insert(alone[0] - plain[0]);
    added.insert(among[2 * size] - plain_1[0]);
    added.insert(batch(data, {3}, noise(1), 1)[0] - plain[0]);
    added.insert(batch(data, {3}, noise(1), 2, Augmentation::none, 0, 4)[0] - plain[0]);
    CHECK(added.size() == 4);
  }
}

TEST_CASE("a picture's noise is cropped and flipped with it, and what is padded has none") {
  const Dataset data = pictures(1, {7, 7, 2});
  const auto whole = batch(data, {0}, noise(1), 1);
  const auto plain = batch(data, {0}, FeatureSkew{}, 1);
  const auto difference = [](const std::vector<float>& a, const std::vector<float>& b, int at) {
    return a[static_cast<std::size_t>(at)] - b[static_cast<std::size_t>(at)];
  };
  std::set<int> moves;
  for (std::uint32_t step = 0; step < 40; ++step) {
    const auto moved = batch(data, {0}, noise(1), 1, Augmentation::crop_flip, step);
    const auto moved_plain = batch(data, {0}, FeatureSkew{}, 1, Augmentation::crop_flip, step);
    int fitting = -1;
    for (int move = 0; move < 162; ++move) {
      const int dx = move % 9 - 4, dy = move / 9 % 9 - 4;
      const bool flip = move >= 81;
      bool fits = true;
      for (int y = 0; y < 7; ++y)
        for (int x = 0; x < 7; ++x)
          for (int c = 0; c < 2; ++c) {
            const int from_x = (flip ? 6 - x : x) + dx, from_y = y + dy;
            const bool inside = from_x >= 0 && from_x < 7 && from_y >= 0 && from_y < 7;
            const float expected = inside ? difference(whole, plain, (from_y * 7 + from_x) * 2 + c) : 0;
            fits = fits && std::abs(difference(moved, moved_plain, (y * 7 + x) * 2 + c) - expected) < 1e-5F;
          }
      if (fits) fitting = move;
    }
    CHECK(fitting >= 0);
    moves.insert(fitting);
  }
  CHECK(moves.size() > 20);
}

TEST_CASE("data that a skew means nothing for are refused in one line") {
  const Dataset grey = pictures(1, {4, 4, 1}), oblong = pictures(1, {4, 6, 3}), numbers = table();
  Dataset neither;
  neither.name = "words";
  CHECK_NOTHROW(noise(1)->check_data(numbers));
  CHECK_NOTHROW(FeatureSkew(RotationSkew{})->check_data(grey));
  CHECK_NOTHROW(color(ColorChange::tint)->check_data(oblong));
  CHECK_NOTHROW(FeatureSkew {} -> check_data(neither));
  CHECK_USAGE_ERROR(noise(1)->check_data(neither), "feature-skew", "'noise'", "'words'", "none");
  CHECK_USAGE_ERROR(FeatureSkew(RotationSkew{})->check_data(numbers), "feature-skew", "'rotation'", "'numbers'", "none, noise");
  CHECK_USAGE_ERROR(FeatureSkew(RotationSkew{})->check_data(oblong), "feature-skew", "'rotation'", "'squares'", "4x6x3",
                    "none, noise, color");
  CHECK_USAGE_ERROR(color(ColorChange::tint)->check_data(grey), "feature-skew", "'color'", "2 to 8", "'squares'", "4x4x1",
                    "none, noise, rotation");
}

}  // namespace fedstride::test::feature_skew_test
