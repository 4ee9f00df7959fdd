#include "data/built_in.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/random.hpp"

namespace fedstride {
namespace {

constexpr int kSide = 32;
constexpr int kPlane = kSide * kSide;
constexpr int kSyntheticClasses = 10;
constexpr int kClutter = 2;
constexpr int kFaintOneIn = 16;  // one figure in this many is barely visible: no model gets all of them right
constexpr int kNoise = 24;       // uniform in +-24 of 255, independent for each pixel and channel

using Color = std::array<int, 3>;

/// A pair's mean background color, minus 128: all that a linear model can see of the class.
constexpr std::array<Color, kSyntheticClasses / 2> kTint{
    {{36, -12, -24}, {-24, 36, -12}, {-12, -24, 36}, {28, 20, -36}, {-28, 16, 20}}};

int between(RandomStream& random, int low, int high) {
  return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low) + 1));
}

/// True if the figure of class 2 kPair, or 2 kPair + 1 if `second`, covers the point (x, y), in quarter pixels from its center;
/// `radius` sets its size, in quarter pixels, and `phase` shifts the bars of the third pair.
template <int kPair>
bool covers(bool second, int x, int y, int radius, int phase) {
  const int square = x * x + y * y;
  const int limit = radius * radius;
  if constexpr (kPair == 0) {  // disc | ring
    return square <= limit && (!second || 25 * square >= 9 * limit);
  } else if constexpr (kPair == 1) {  // square | diamond
    return second ? 10 * (std::abs(x) + std::abs(y)) <= 12 * radius : 10 * std::max(std::abs(x), std::abs(y)) <= 8 * radius;
  } else if constexpr (kPair == 2) {  // horizontal | vertical bars
    return square <= limit && (((second ? x : y) + 256 + phase) / 10) % 2 == 0;
  } else if constexpr (kPair == 3) {  // plus | cross
    const int u = second ? (x + y) * 5 / 7 : x;
    const int v = second ? (x - y) * 5 / 7 : y;
    return std::max(std::abs(u), std::abs(v)) <= radius && 4 * std::min(std::abs(u), std::abs(v)) <= radius;
  } else {  // triangle on its base | on its tip
    const int height = second ? -y : y;
    return std::abs(height) <= radius && 2 * std::abs(x) <= radius + height;
  }
}

/// 1 where the figure covers a pixel, otherwise 0.
using Cover = std::array<int, kPlane>;
struct Figure {
  int label, radius, centre_x, centre_y, phase;
};
template <int kPair>
void cover(const Figure& figure, Cover& inside) {
  const bool second = figure.label % 2 == 1;
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x)
      inside[static_cast<std::size_t>(y * kSide + x)] =
          covers<kPair>(second, 4 * x + 2 - figure.centre_x, 4 * y + 2 - figure.centre_y, figure.radius, figure.phase);
}
constexpr std::array<void (*)(const Figure&, Cover&), kSyntheticClasses / 2> kCover{cover<0>, cover<1>, cover<2>, cover<3>,
                                                                                    cover<4>};

/// Paints one image, as planes, into 3072 bytes.
void paint(int label, RandomStream random, std::uint8_t* out) {
  const Color& tint = kTint[static_cast<std::size_t>(label / 2)];
  Color ground{};
  Color slope_x{};
  Color slope_y{};
  Color ink{};
  const bool faint = random.below(kFaintOneIn) == 0;
  const int contrast = (random() % 2 == 0 ? 1 : -1) * (faint ? between(random, 6, 16) : between(random, 60, 100));
  for (std::size_t c = 0; c < 3; ++c) {
    ground[c] = 128 + tint[c] + between(random, -24, 24);
    slope_x[c] = between(random, -24, 24);
    slope_y[c] = between(random, -24, 24);
    ink[c] = contrast * between(random, 60, 110) / 100;
  }
  const int radius = between(random, 28, 44);
  const int centre_x = between(random, 50, 78);
  const int centre_y = between(random, 50, 78);
  const int phase = between(random, 0, 19);

  struct Patch {
    int x, y, width, height;
    Color ink;
  };
  std::array<Patch, kClutter> clutter{};
  for (auto& patch : clutter) {
    patch = {between(random, 0, 28), between(random, 0, 28), between(random, 2, 6), between(random, 2, 6), {}};
    for (auto& channel : patch.ink) channel = between(random, -40, 40);
  }

  Cover inside;
  kCover[static_cast<std::size_t>(label / 2)]({label, radius, centre_x, centre_y, phase}, inside);
  std::array<std::uint32_t, kPlane> words;
  random.fill(words);
  // One channel at a time, so compilers can vectorize the loops.
  for (std::size_t c = 0; c < 3; ++c) {
    std::array<int, kPlane> values;
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) {
        const auto at = static_cast<std::size_t>(y * kSide + x);
        values[at] = ground[c] + (slope_x[c] * (x - 16) + slope_y[c] * (y - 16)) / 16 + inside[at] * ink[c];
      }
    for (const auto& patch : clutter)
      for (int y = patch.y; y < std::min(patch.y + patch.height, kSide); ++y)
        for (int x = patch.x; x < std::min(patch.x + patch.width, kSide); ++x)
          values[static_cast<std::size_t>(y * kSide + x)] += patch.ink[c];
    for (std::size_t at = 0; at < kPlane; ++at) {
      const int byte = static_cast<int>(words[at] >> (8 * c) & 255);
      const int noisy = values[at] + (2 * byte - 255) * kNoise / 255;
      out[c * kPlane + at] = static_cast<std::uint8_t>(std::clamp(noisy, 0, 255));
    }
  }
}

}  // namespace

Dataset make_synthetic(SyntheticPart part, std::size_t rows) {
  Dataset data;
  data.shape = {kSide, kSide, 3};
  data.classes = kSyntheticClasses;
  data.class_names = {"disc",          "ring", "square", "diamond",     "lying bars",
                      "standing bars", "plus", "cross",  "triangle up", "triangle down"};
  data.labels.resize(rows);
  data.pixels.resize(rows * 3 * kPlane);
  for (std::size_t row = 0; row < rows; ++row) {
    const int label = static_cast<int>(row % kSyntheticClasses);
    data.labels[row] = static_cast<Label>(label);
    paint(label,
          RandomStream(0, {.purpose = Purpose::synthetic_data,
                           .client = static_cast<std::uint32_t>(part),
                           .row = static_cast<std::uint32_t>(row)}),
          data.pixels.data() + row * 3 * kPlane);
  }
  return data;
}

DataPair load_synthetic(const std::filesystem::path&) {
  DataPair pair{
      make_synthetic(SyntheticPart::train, kSyntheticTrainRows), make_synthetic(SyntheticPart::test, kSyntheticTestRows), {}};
  pair.train.mean = {0.5F, 0.5F, 0.5F};
  pair.train.deviation = {0.16F, 0.16F, 0.16F};
  return pair;
}

}  // namespace fedstride
