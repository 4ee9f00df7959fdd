#include "data/features/scattering.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/files.hpp"
#include "data/datasets.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::scattering_test {
namespace {

int value_at(int y, int x, int channel) { return (y * y * 7 + x * 13 + x * y * (3 + channel) + channel * 50) % 256; }

/// Planes of the picture of scattering_twin.py: its channels from `first`.
template <class Value>
std::vector<Value> picture(const Shape& shape, int first, Value unit) {
  std::vector<Value> planes;
  for (int channel = first; channel < first + shape.channels; ++channel)
    for (int y = 0; y < shape.height; ++y)
      for (int x = 0; x < shape.width; ++x)
        planes.push_back(static_cast<Value>(static_cast<Value>(value_at(y, x, channel)) / unit));
  return planes;
}

std::vector<float> features_of(const Scattering& map, const Shape& shape, const std::vector<float>& values) {
  std::vector<float> features(values.size() / shape.size() * map.output(shape).size());
  map.mapper(shape)(values, features);
  return features;
}

}  // namespace

TEST_CASE("scattering features are those of a second program") {
  std::istringstream lines(read_file(FEDSTRIDE_SOURCE_DIR "/tests/data/features/scattering_twin.txt"));
  int height, width, scales, orientations, channel, path, y, x, count = 0;
  double expected;
  while (lines >> height >> width >> scales >> orientations >> channel >> path >> y >> x >> expected) {
    CAPTURE(height);
    CAPTURE(scales);
    CAPTURE(path);
    const Scattering map(scales, orientations);
    const Shape shape{height, width, 1};
    const auto features = features_of(map, shape, picture<float>(shape, channel, 255));
    const Shape out = map.output(shape);
    CHECK(std::abs(features[static_cast<std::size_t>((y * out.width + x) * out.channels + path)] - expected) <
          1e-5 * std::max(std::abs(expected), 0.1));
    ++count;
  }
  CHECK(count == 81 + 81 + 36 + 61 + 4);
}

TEST_CASE("centered pictures have an average 0.5 lower, and the same moduli") {
  const Shape shape{28, 20, 1};
  const auto values = picture<float>(shape, 0, 255);
  const auto plain = features_of(Scattering(2, 8), shape, values);
  const auto centered = features_of(Scattering(2, 8, true), shape, values);
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(std::abs(centered[i] - plain[i] + (i % 81 == 0 ? 0.5F : 0)) < 1e-4);
}

TEST_CASE("each plane is scattered alone: not its neighbors, order or number change a bit") {
  const Scattering map(2, 4);
  const Shape gray{16, 12, 1}, color{16, 12, 3};
  std::vector<float> many;
  for (int i = 0; i < 7; ++i)
    for (const float value : picture<float>(color, i, 255)) many.push_back(value);
  const auto all = features_of(map, color, many);
  const Shape out = map.output(color);
  CHECK(out == Shape{4, 3, 3 * map.paths()});
  for (int i = 0; i < 7; ++i)
    for (int channel = 0; channel < 3; ++channel) {
      const auto alone = features_of(map, gray, picture<float>(gray, i + channel, 255));
      for (int place = 0; place < 12; ++place)
        for (int path = 0; path < map.paths(); ++path)
          REQUIRE(alone[static_cast<std::size_t>(place * map.paths() + path)] ==
                  all[static_cast<std::size_t>((i * 12 + place) * out.channels + channel * map.paths() + path)]);
    }
}

TEST_CASE("a data set of pictures is read as features, named in facts, hash and schema, and other pictures through it") {
  static const bool added = [] {
    add_dataset({.name = "two-pictures",
                 .summary = "two pictures",
                 .files = "",
                 .place = {},
                 .is_published = true,
                 .load = [](const std::filesystem::path&) {
                   DataPair pair;
                   pair.train.shape = {16, 12, 3};
                   pair.train.classes = 2;
                   pair.train.pixels = picture<std::uint8_t>(pair.train.shape, 0, 1);
                   pair.train.pixels.append(pair.train.pixels.begin(), pair.train.pixels.end());
                   pair.train.labels = {0, 1};
                   pair.train.mean = {0.5F, 0.5F, 0.5F};
                   pair.train.deviation = {0.25F, 0.25F, 0.25F};
                   pair.test = pair.train;
                   return pair;
                 }});
    return true;
  }();
  static_cast<void>(added);
  DataOptions options;
  const DataPair plain = load_dataset("two-pictures", options);
  options.read.features = "scattering";
  const DataPair pair = load_dataset("two-pictures", options);
  const Scattering map(2, 8);
  CHECK(pair.train.shape == Shape{4, 3, 243});
  CHECK(pair.train.pixels.empty());
  CHECK(std::as_const(pair.test.features).size() == 2 * pair.train.shape.size());
  const auto expected = features_of(map, {16, 12, 3}, picture<float>({16, 12, 3}, 0, 255));
  for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(std::as_const(pair.train.features)[i] == expected[i]);
  CHECK(pair.train.mean.size() == 243);  // of the training rows' features, not of the pictures
  CHECK(pair.hash != plain.hash);
  CHECK(std::ranges::find(pair.facts, "features scattering 2 8 (named)") != pair.facts.end());
  const Schema schema = schema_of(pair);
  CHECK(schema.features == "scattering 2 8");
  CHECK(read_schema(schema_text(schema), "x") == schema);
  CHECK(schema_of(plain).features.empty());

  DataOptions other;
  other.read.schema = std::make_shared<const Schema>(schema);
  other.read.keeps_constants = true;
  const DataPair through = load_dataset("two-pictures", other);
  CHECK(std::as_const(through.test.features).size() == 2 * pair.train.shape.size());
  CHECK(through.test.mean == pair.train.mean);

  options.read.features = "scattering 2 6";
  CHECK(load_dataset("two-pictures", options).hash != pair.hash);
  options.read.features = "none";
  CHECK(load_dataset("two-pictures", options).hash == plain.hash);
  options.read.features = "scattering 3";
  CHECK_USAGE_ERROR(load_dataset("two-pictures", options), "features", "scattering 3 8", "16x16", "16x12x3");
  options.read.features = "scattering";
  CHECK_USAGE_ERROR(load_dataset("synthetic-li:0.5,0.5", options), "features", "8-bit images", "synthetic-li:0.5,0.5", "none");
}

TEST_CASE("features that are not valid are refused in one line") {
  for (const char* setting : {"", "none", " none "}) CHECK(feature_map(setting) == nullptr);
  CHECK(feature_map("scattering")->text() == "scattering 2 8");
  CHECK(feature_map(" scattering  3 6 ")->text() == "scattering 3 6");
  CHECK(feature_map("scattering centered")->text() == "scattering 2 8 centered");
  CHECK(feature_map("scattering 3 6 centered")->text() == "scattering 3 6 centered");
  CHECK_USAGE_ERROR(feature_map("scatter"), "features", "'scatter'", "none", "scattering [SCALES [ORIENTATIONS]] [centered]");
  CHECK_USAGE_ERROR(feature_map("scattering 6"), "'6'", "scales", "1 to 5");
  CHECK_USAGE_ERROR(feature_map("scattering 2 x"), "'x'", "orientations", "1 to 32");
  CHECK_USAGE_ERROR(feature_map("scattering 2 8 1"), "4 words");
}

}  // namespace fedstride::test::scattering_test
