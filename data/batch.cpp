#include "data/batch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "core/normals.hpp"
#include "core/simd.hpp"
#include "data/skew/feature_skew.hpp"

namespace fedstride {
namespace {

constexpr int kPadding = 4;

/// Loads kLanes bytes as floats. The compiler converts these vectors in pieces.
FEDSTRIDE_INLINE Lanes floats_at(const std::uint8_t* bytes) {
#if defined(__AVX512F__)
  const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  return reinterpret_cast<Lanes>(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(loaded)));
#elif defined(__AVX2__)
  const __m128i loaded = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
  return reinterpret_cast<Lanes>(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(loaded)));
#else
  Lanes value;
  for (int lane = 0; lane < kLanes; ++lane) value[lane] = static_cast<float>(bytes[lane]);
  return value;
#endif
}

/// The first whole vectors of three planes, for `normalize`; returns how many values of a plane these are.
int normalize_colors(const std::uint8_t* planes, int count, const float* scale, const float* shift, float* out) {
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Lanes values[3];
    unrolled<3>([&](auto c) FEDSTRIDE_INLINE_LAMBDA { values[c] = floats_at(planes + c * count + i) * scale[c] + shift[c]; });
    // Value k of the result is lane k / 3 of channel k % 3: two shuffles of two vectors each.
    unrolled<3>([&](auto part) FEDSTRIDE_INLINE_LAMBDA {
      IntLanes two{}, three{};
      for (int lane = 0; lane < kLanes; ++lane) {
        const int k = part * kLanes + lane;
        two[lane] = k / 3 + (k % 3 == 1 ? kLanes : 0);
        three[lane] = k % 3 == 2 ? kLanes + k / 3 : lane;
      }
      store(out + 3 * i + part * kLanes, __builtin_shuffle(__builtin_shuffle(values[0], values[1], two), values[2], three));
    });
  }
  return i;
}

/// Converts planes of bytes to floats with channels innermost: value x scale + shift per channel.
void normalize(const std::uint8_t* planes, int count, int channels, const float* scale, const float* shift, float* out) {
  if (channels == 1) {
    for (int i = 0; i < count; ++i) out[i] = static_cast<float>(planes[i]) * scale[0] + shift[0];
    return;
  }
  for (int i = channels == 3 ? normalize_colors(planes, count, scale, shift, out) : 0; i < count; ++i)
    for (int c = 0; c < channels; ++c) out[i * channels + c] = static_cast<float>(planes[c * count + i]) * scale[c] + shift[c];
}

/// Crops the image to the window whose upper left corner is (dx, dy), black outside the image; then flips it if requested.
void crop_and_flip(const std::uint8_t* from, const Shape& shape, int dx, int dy, bool flip, std::uint8_t* to) {
  const int plane = shape.height * shape.width;
  std::memset(to, 0, shape.size());
  const int x_begin = std::max(0, -dx);
  const int x_end = std::min(shape.width, shape.width - dx);
  for (int c = 0; c < shape.channels; ++c)
    for (int y = std::max(0, -dy); y < std::min(shape.height, shape.height - dy); ++y) {
      const std::uint8_t* source = from + c * plane + (y + dy) * shape.width + dx;
      std::uint8_t* target = to + c * plane + y * shape.width;
      if (x_begin < x_end) std::copy(source + x_begin, source + x_end, target + x_begin);
      if (flip) std::reverse(target, target + shape.width);
    }
}

/// How an image was cropped and flipped.
struct Move {
  int dx = 0;
  int dy = 0;
  bool flip = false;
};

/// The address at which a row's noise is drawn. Noise drawn once uses round 0, since training rounds count from 1.
Address noise_address(const ClientSkew& skew, Row row, const BatchAddress& reading) {
  Address address{.purpose = Purpose::feature_noise, .client = skew.client_of(row), .row = row};
  if (skew.is_of_test) {
    address.step = 1;
  } else if (skew.part->draws_anew()) {
    address.round = reading.round;
    address.step = reading.step;
  }
  return address;
}

/// The Gaussian noise to add to each value of a client's example, in the data set's storage order; empty if there is none.
std::span<const float> noise_on(const ClientSkew& skew, Row row, const BatchAddress& reading, std::size_t values) {
  if (skew.part == nullptr) return {};
  const auto deviation = static_cast<float>(std::sqrt(skew.part->noise(skew.client_of(row), skew.clients)));
  if (deviation == 0) return {};
  thread_local std::vector<float> noise;
  noise.assign(values, 0);
  add_normals(RandomSource(skew.seed), noise_address(skew, row, reading), 0, deviation, noise);
  return noise;
}

/// Adds noise to an image, after cropping and flipping the noise as `move` says; padding gets none.
void add_moved(std::span<const float> noise, const Shape& shape, const Move& move, std::span<const float> deviation, float* out) {
  for (int c = 0; c < shape.channels; ++c)
    for (int y = std::max(0, -move.dy); y < std::min(shape.height, shape.height - move.dy); ++y)
      for (int x = std::max(0, -move.dx); x < std::min(shape.width, shape.width - move.dx); ++x) {
        const int from = (c * shape.height + y + move.dy) * shape.width + x + move.dx;
        const int to = (y * shape.width + (move.flip ? shape.width - 1 - x : x)) * shape.channels + c;
        out[to] += noise[static_cast<std::size_t>(from)] / deviation[static_cast<std::size_t>(c)];
      }
}

void fill_pictures(const Dataset& data, std::span<const Row> rows, Augmentation augmentation, const BatchAddress& address,
                   std::span<float> out, const ClientSkew& skew) {
  const auto channels = static_cast<std::size_t>(data.shape.channels);
  const std::size_t size = data.shape.size();
  std::array<float, 8> scales{};
  std::array<float, 8> shifts{};
  if (channels > scales.size())
    throw usage_error("images have " + std::to_string(channels) + " channels; at most 8 are supported");
  for (std::size_t c = 0; c < channels; ++c) {
    scales[c] = 1 / (255 * data.deviation[c]);
    shifts[c] = -data.mean[c] / data.deviation[c];
  }
  thread_local std::vector<std::uint8_t> moved;
  if (augmentation == Augmentation::crop_flip) moved.resize(size);
  thread_local std::vector<std::uint8_t> redrawn;
  if (skew.part != nullptr) redrawn.resize(size);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint8_t* picture = data.pixels.data() + data.place(rows[i]) * size;
    if (const std::uint32_t client = skew.client_of(rows[i]); skew.part != nullptr && skew.part->redraws(client)) {
      skew.part->redraw(client, picture, data.shape, redrawn.data());
      picture = redrawn.data();
    }
    Move move;
    if (augmentation == Augmentation::crop_flip) {
      RandomStream random(address.seed, {Purpose::augmentation, address.round, address.client, address.step, rows[i]});
      move.dx = static_cast<int>(random.below(2 * kPadding + 1)) - kPadding;
      move.dy = static_cast<int>(random.below(2 * kPadding + 1)) - kPadding;
      move.flip = random() % 2 == 1;
      crop_and_flip(picture, data.shape, move.dx, move.dy, move.flip, moved.data());
      picture = moved.data();
    }
    normalize(picture, data.shape.height * data.shape.width, data.shape.channels, scales.data(), shifts.data(),
              out.data() + i * size);
    if (const auto noise = noise_on(skew, rows[i], address, size); !noise.empty())
      add_moved(noise, data.shape, skew.part->draws_anew() ? Move{} : move, data.deviation, out.data() + i * size);
  }
}

}  // namespace

void fill_batch(const Dataset& data, std::span<const Row> rows, Augmentation augmentation, const BatchAddress& address,
                std::span<float> out, const ClientSkew& skew) {
  if (data.is_pictures()) return fill_pictures(data, rows, augmentation, address, out, skew);
  if (augmentation != Augmentation::none)
    throw usage_error("augment is 'crop-flip', which needs images; data set '" + data.name + "' has plain features, so use none");
  const std::size_t columns = data.shape.size();
  if (data.vocabulary > 0) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::copy_n(data.tokens.begin() + static_cast<std::ptrdiff_t>(data.place(rows[i]) * columns), columns,
                  out.begin() + static_cast<std::ptrdiff_t>(i * columns));
    return;
  }
  const std::size_t means = data.mean.size();  // a table has one mean per column, other data one per channel
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float* from = data.features.data() + data.place(rows[i]) * columns;
    float* to = out.data() + i * columns;
    for (std::size_t c = 0, m = 0; c < columns; ++c, m = m + 1 == means ? 0 : m + 1)
      to[c] = (from[c] - data.mean[m]) / data.deviation[m];
    const std::span<const float> added = noise_on(skew, rows[i], address, columns);
    for (std::size_t c = 0; c < added.size(); ++c) to[c] += added[c];
  }
}

namespace {

/// Returns the answers of the given rows from `all`, which has `each` answers per row.
template <class Value>
std::span<const Value> gathered(const Dataset& data, const std::vector<Value>& all, std::span<const Row> rows, std::size_t each,
                                std::vector<Value>& out) {
  out.resize(rows.size() * each);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(data.place(rows[i]) * each), each,
                out.begin() + static_cast<std::ptrdiff_t>(i * each));
  return out;
}

}  // namespace

Answers AnswerRoom::read(const Dataset& data, std::span<const Row> rows) {
  const std::size_t each = data.form().answers();
  switch (data.targets) {
    case Targets::classes:
      return gathered(data, data.labels, rows, each, labels_);
    case Targets::positions:
      return gathered(data, data.position_labels, rows, each, labels_);
    case Targets::values:
    case Targets::flags:
      break;
  }
  return {{}, gathered(data, data.values, rows, each, values_)};
}

}  // namespace fedstride
