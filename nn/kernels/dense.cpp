#include "nn/kernels/dense.hpp"

#include <algorithm>

#include "nn/kernels/tiles.hpp"

namespace fedstride {
namespace {

// A tile of results stays in registers: kMaxRows rows by two vectors.
constexpr int kMaxRows = kTileRows;
constexpr int kInputChunk = 64;  // inputs of a tile processed at once, so that their weights and activations stay in L1
// From this number of rows on, unaligned weights are copied to aligned memory, one chunk of inputs at a time.
constexpr int kMinRowsToCopy = 3 * kMaxRows;
constexpr int kCopiedInputs = 128;
constexpr int kPrefetchInputs = 4;  // number of inputs ahead, in the backward pass

template <int kRows, int kVectors, bool kTail>
void forward_loop(const float* x, std::size_t x_stride, const float* w, std::size_t w_stride, int depth, float* y,
                  std::size_t y_stride, [[maybe_unused]] int tail) {
  Lanes sum[kRows][kVectors];
  load_tile(sum, y, y_stride);
  for (int i = 0; i < depth; ++i) {
    prefetch(w + kInputChunk * w_stride);  // the next inputs' weights for the same outputs
    prefetch(w + kInputChunk * w_stride + kLanes);
    Lanes weight[kVectors];
    unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA {
      if constexpr (kTail && v + 1 == kVectors)
        weight[v] = load_first(w + v * kLanes, tail);
      else
        weight[v] = load(w + v * kLanes);
    });
    unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes value = broadcast(x[r * x_stride]);
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[r][v] = fma(value, weight[v], sum[r][v]); });
    });
    w += w_stride;
    ++x;
  }
  store_tile(sum, y, y_stride);
}

/// y[r][o] += sum_i x[r][i] w[i][o] for `depth` inputs; `tail` outputs in the last vector.
template <int kRows, int kVectors>
void forward_tile(const float* x, std::size_t x_stride, const float* w, std::size_t w_stride, int depth, float* y,
                  std::size_t y_stride, int tail) {
  if (tail == kLanes)
    forward_loop<kRows, kVectors, false>(x, x_stride, w, w_stride, depth, y, y_stride, tail);
  else
    forward_loop<kRows, kVectors, true>(x, x_stride, w, w_stride, depth, y, y_stride, tail);
}

/// Sums along the outputs, of which kSums vectors fit in the registers: the parts of the lanes take turns with a piece of the
/// outputs, which stays in the first-level cache. body(sum, o, get, put) adds outputs o, o + 1, ...; get and put touch nothing
/// after the last one.
template <int kSums, class Body>
FEDSTRIDE_INLINE void sum_outputs(int outputs, Lanes (&sums)[kSumParts][kSums], Body&& body) {
  constexpr int kPiece = 1024;
  const int piece = kSumParts == 1 ? outputs : kPiece;
  for (int first = 0; first < outputs; first += piece) {
    const int last = std::min(first + piece, outputs);
    unrolled<kSumParts>([&](auto part) FEDSTRIDE_INLINE_LAMBDA {
      Lanes sum[kSums];
      unrolled<kSums>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { sum[i] = sums[part][i]; });
      int o = first + part * kLanes;
      for (; o + kLanes <= last; o += kSumLanes)
        body(
            sum, o, [](const float* from) FEDSTRIDE_INLINE_LAMBDA { return load(from); },
            [](float* to, Lanes value) FEDSTRIDE_INLINE_LAMBDA { store(to, value); });
      if (const int tail = last - o; tail > 0)
        body(
            sum, o, [=](const float* from) FEDSTRIDE_INLINE_LAMBDA { return load_first(from, tail); },
            [=](float* to, Lanes value) FEDSTRIDE_INLINE_LAMBDA { store_first(to, value, tail); });
      unrolled<kSums>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { sums[part][i] = sum[i]; });
    });
  }
}

/// to[i * kRows + r] = sum_o dy[r][o] w[i][o]; whole vectors are written.
template <int kRows, int kInputs>
void data_tile(const float* dy, std::size_t dy_stride, const float* w, int outputs, float* to) {
  constexpr int kSums = kInputs * kRows;
  Lanes sums[kSumParts][kSums] = {};
  sum_outputs(outputs, sums, [&](auto& sum, int o, auto get, auto) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { prefetch(w + (kPrefetchInputs + i) * outputs + o); });
    Lanes weight[kInputs];
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { weight[i] = get(w + i * outputs + o); });
    unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes value = in_register(load(dy + r * dy_stride + o));
      unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { sum[i * kRows + r] = fma(value, weight[i], sum[i * kRows + r]); });
    });
  });
  constexpr int kPacked = (kSums + kLanes - 1) / kLanes;
  Lanes packed[kPacked];
  packed_sums(sums, packed);
  unrolled<kPacked>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { store(to + i * kLanes, packed[i]); });
}

/// dw[i][o] = sum_r x[r][i] dy[r][o], or with kChosen x[examples[r]][i]; `tail` outputs in the last vector.
template <int kInputs, int kVectors, bool kChosen>
void weight_tile(const float* x, std::size_t x_stride, [[maybe_unused]] const int* examples, const float* dy,
                 std::size_t dy_stride, int rows, float* dw, std::size_t dw_stride, int tail) {
  Lanes sum[kInputs][kVectors] = {};
  for (int r = 0; r < rows; ++r) {
    const float* inputs = x;
    if constexpr (kChosen)
      inputs += static_cast<std::size_t>(examples[r]) * x_stride;
    else
      x += x_stride;
    Lanes value[kVectors];
    unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { value[v] = in_register(load(dy + v * kLanes)); });
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes factor = broadcast(inputs[i]);
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[i][v] = fma(factor, value[v], sum[i][v]); });
    });
    dy += dy_stride;
  }
  unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors - 1>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { store(dw + i * dw_stride + v * kLanes, sum[i][v]); });
    float* last = dw + i * dw_stride + (kVectors - 1) * kLanes;
    if (tail == kLanes)
      store(last, sum[i][kVectors - 1]);
    else
      store_first(last, sum[i][kVectors - 1], tail);
  });
}

/// Both gradients of two inputs: the output gradients are loaded once for the two. sums as data_tile leaves them; dw[i][o] =
/// sum_r factors[r][i] dy[r][o].
template <int kRows>
void both_tile(const float* factors, const float* dy, std::size_t dy_stride, const float* w, int outputs, float* sums,
               float* dw) {
  constexpr int kInputs = 2;
  Lanes parts[kSumParts][kInputs * kRows] = {};
  sum_outputs(outputs, parts, [&](auto& sum, int o, auto get, auto put) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { prefetch(w + (kPrefetchInputs + i) * outputs + o); });
    Lanes weight[kInputs], gradient[kInputs] = {};
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { weight[i] = get(w + i * outputs + o); });
    unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes value = in_register(load(dy + r * dy_stride + o));
      unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA {
        sum[i * kRows + r] = fma(value, weight[i], sum[i * kRows + r]);
        gradient[i] = fma(value, factors[r * kInputs + i], gradient[i]);
      });
    });
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { put(dw + i * outputs + o, gradient[i]); });
  });
  constexpr int kPacked = (kInputs * kRows + kLanes - 1) / kLanes;
  Lanes packed[kPacked];
  packed_sums(parts, packed);
  unrolled<kPacked>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { store(sums + i * kLanes, packed[i]); });
}

constexpr int kWeightInputs = 4;
constexpr int kWeightVectors = kRegisters == 32 ? 4 : 2;
template <int kInputs>
constexpr auto weight_tiles() {  // [1]: for chosen examples
  return tile_table<2, kWeightVectors>([]<int kChosen, int kVectors>() { return &weight_tile<kInputs, kVectors, kChosen == 2>; });
}
constexpr auto kForwardTiles = tile_table<2, kMaxRows>([]<int kVectors, int kRows>() { return &forward_tile<kRows, kVectors>; });
constexpr auto kDataTiles = tile_table<2, kMaxRows>([]<int kInputs, int kRows>() { return &data_tile<kRows, kInputs>; });
constexpr auto kBothTiles = tile_table<1, kMaxRows>([]<int, int kRows>() { return &both_tile<kRows>; })[0];
constexpr auto kWeightTiles1 = weight_tiles<1>();
constexpr auto kWeightTiles4 = weight_tiles<kWeightInputs>();

/// `width` columns (at most two vectors) of `depth` rows, without gaps between whole vectors.
void copy_columns(const float* from, int stride, int depth, int width, float* to) {
  for (int k = 0; k < depth; ++k, from += stride, to += 2 * kLanes) {
    store(to, load_first(from, std::min(width, kLanes)));
    if (width > kLanes) store(to + kLanes, load_first(from + kLanes, width - kLanes));
  }
}

}  // namespace

void dense_forward(Rows x, int rows, int inputs, const float* w, int outputs, const float* bias, bool relu, Rows y, int first,
                   int last) {
  for (int r = 0; r < rows; ++r)
    for (int o = first; o < last; o += kLanes)
      store(y[r] + o, bias == nullptr ? Lanes{} : load_first(bias + o, std::min(kLanes, last - o)));
  const bool copies = rows >= kMinRowsToCopy && outputs % kLanes != 0;
  const int chunk = copies ? kCopiedInputs : kInputChunk;
  for (int i = 0; i < inputs; i += chunk) {
    const int depth = std::min(chunk, inputs - i);
    const auto add = [&](int row, int count, int o, const float* from, int stride) {
      const int width = std::min(2 * kLanes, last - o);
      const auto& tiles = kForwardTiles[width > kLanes ? 1 : 0];
      const int tail = width > kLanes ? width - kLanes : width;
      tiles[count - 1](x[row] + i, x.stride, from, stride, depth, y[row] + o, y.stride, tail);
    };
    const float* weights = w + static_cast<std::size_t>(i) * outputs;
    if (copies) {
      alignas(64) float copy[kCopiedInputs * 2 * kLanes];
      for (int o = first; o < last; o += 2 * kLanes) {
        copy_columns(weights + o, outputs, depth, std::min(2 * kLanes, last - o), copy);
        for_blocks(rows, kMaxRows, [&](int row, int count) { add(row, count, o, copy, 2 * kLanes); });
      }
    } else {
      for_blocks(rows, kMaxRows, [&](int row, int count) {
        for (int o = first; o < last; o += 2 * kLanes) add(row, count, o, weights + o, outputs);
      });
    }
  }
  if (relu)
    for (int r = 0; r < rows; ++r)
      for (int o = first; o < last; o += kLanes) store(y[r] + o, positive(load(y[r] + o)));
}

void dense_data_gradient(Rows dy, int rows, const float* w, int outputs, Rows dx, int first, int last) {
  alignas(64) float sums[whole_lanes(2 * kMaxRows)];
  for_blocks(rows, kMaxRows, [&](int row, int count) {
    for (int i = first; i < last; i += 2) {
      const int inputs = std::min(2, last - i);
      const auto& tiles = kDataTiles[inputs - 1];
      tiles[count - 1](dy[row], dy.stride, w + static_cast<std::size_t>(i) * outputs, outputs, sums);
      for (int r = 0; r < count; ++r) dx[row + r][i] = sums[r];
      if (inputs == 2)
        for (int r = 0; r < count; ++r) dx[row + r][i + 1] = sums[count + r];
    }
  });
}

void dense_both_gradients(Rows x, Rows dy, int rows, const float* w, int outputs, Rows dx, int first, int last, float* dw) {
  if (rows > kMaxRows || (last - first) % 2 != 0) {
    dense_data_gradient(dy, rows, w, outputs, dx, first, last);
    dense_weight_gradient(x, {dy, rows}, outputs, first, last, dw);
    return;
  }
  alignas(64) float sums[whole_lanes(2 * kMaxRows)];
  float factors[2 * kMaxRows];
  for (int i = first; i < last; i += 2) {
    for (int r = 0; r < rows; ++r) {
      factors[2 * r] = x[r][i];
      factors[2 * r + 1] = x[r][i + 1];
    }
    kBothTiles[rows - 1](factors, dy.data, dy.stride, w + static_cast<std::size_t>(i) * outputs, outputs, sums,
                         dw + static_cast<std::size_t>(i - first) * outputs);
    for (int r = 0; r < rows; ++r) {
      dx[r][i] = sums[r];
      dx[r][i + 1] = sums[rows + r];
    }
  }
}

void dense_weight_gradient(Rows x, const OutputGradients& dy, int outputs, int first, int last, float* dw) {
  const std::size_t chosen = dy.examples == nullptr ? 0 : 1;
  for (int i = first; i < last; i += kWeightInputs) {
    const int inputs = std::min(kWeightInputs, last - i);
    for (int o = 0; o < outputs; o += kWeightVectors * kLanes) {
      const int width = std::min(kWeightVectors * kLanes, outputs - o);
      const int vectors = (width + kLanes - 1) / kLanes;
      const int tail = width - (vectors - 1) * kLanes;
      const auto tile = (inputs == kWeightInputs ? kWeightTiles4 : kWeightTiles1)[chosen][vectors - 1];
      for (int j = 0; j < inputs; j += inputs == kWeightInputs ? kWeightInputs : 1)
        tile(x.data + i + j, x.stride, dy.examples, dy.values.data + o, dy.values.stride, dy.count,
             dw + static_cast<std::size_t>(i + j - first) * outputs + o, outputs, tail);
    }
  }
}

OutputGradients scaled_gradients(Rows dy, int rows, int outputs, const float* factors, Rows to, int* examples) {
  int count = 0;
  for (int r = 0; r < rows; ++r) {
    if (factors[r] == 0) continue;
    for (int o = 0; o < outputs; o += kLanes) store(to[count] + o, load(dy[r] + o) * factors[r]);
    examples[count++] = r;
  }
  return {to, count, count == rows ? nullptr : examples};
}

void column_sums(const OutputGradients& dy, int outputs, float* sums) {
  for (int o = 0; o < outputs; o += kLanes) {
    Lanes total{};
    for (int r = 0; r < dy.count; ++r) total += load(dy.values[r] + o);
    store(sums + o, total);
  }
}

void relu_mask(Rows value, Rows gradient, int rows, std::size_t size) {
  for (int r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < size; i += kLanes)
      store(gradient[r] + i, load(value[r] + i) > Lanes{} ? load(gradient[r] + i) : Lanes{});
}

}  // namespace fedstride
