#include "nn/kernels/dense.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "nn/kernels/tiles.hpp"

namespace fedstride {
namespace {

// A tile of results stays in registers: kMaxRows rows by two vectors.
constexpr int kMaxRows = kTileRows;
constexpr int kInputChunk = 64;  // inputs of a tile processed at once, so their weights and activations stay in L1
// With at least this many rows, weights are packed: the first number applies if they are unaligned and fill more than one vector
// (a packed strip has two), the second if their stride maps a chunk's inputs to four of the 64 sets of the first-level cache.
constexpr int kMinRowsToPack = 3 * kMaxRows;
constexpr int kMinRowsToPackCrowded = 128;
constexpr int kCrowdedOutputs = 256;
constexpr int kStripOutputs = 2 * kLanes;
constexpr int kLaneStride = static_cast<int>(whole_lanes(kMaxRows));
constexpr int kLaneInputs = 2 * kLanes;  // inputs of a data-gradient tile whose vectors run along the inputs
constexpr int kLaneDepth = std::bit_width(static_cast<unsigned>(kSumLanes)) - 1;
constexpr int kDepth = 128;                 // packed inputs of a tile processed at once
constexpr int kForwardRows = 8 * kMaxRows;  // rows to which a strip of packed weights is applied before the next
// With at least one row per kOutputsPerRow outputs, a data gradient packs its weights, at most kPackedFloats at a time, and
// applies them all to kLaneRows rows before the next rows.
constexpr int kOutputsPerRow = 3;
constexpr int kPackedFloats = 1 << 18;
constexpr int kLaneRows = 8 * kMaxRows;
// With this many inputs, output gradients, too, are ordered by lane: 12 rows of them exceed the first-level cache, the 6 rows of
// narrower registers do not (3 to 8 % slower there).
constexpr int kMinInputsToOrder = kLanes == kSumLanes ? 256 : std::numeric_limits<int>::max();
constexpr int kPrefetchInputs = 4;  // number of inputs to prefetch ahead, in the backward pass

/// Weights of a strip of outputs. `next` is the distance to those that will be used soon, which are prefetched; 0: none. (A
/// prefetch past the end of mapped memory searches the page tables in vain every time: a product took eight times as long.)
struct WeightStrip {
  const float* data;
  std::size_t stride;
  std::size_t next = 0;
};

/// What a tile's sums start with: the biases (stride 0) or the sums over previous inputs.
struct TileStart {
  const float* data;
  std::size_t stride;
};

template <int kRows, int kVectors, bool kTail>
void forward_loop(const float* x, std::size_t x_stride, WeightStrip strip, int depth, TileStart start, float* y,
                  std::size_t y_stride, int tail) {
  const float* w = strip.data;
  Lanes sum[kRows][kVectors];
  if constexpr (kTail)
    load_tile(sum, start.data, start.stride, tail);
  else
    load_tile(sum, start.data, start.stride);
  unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { __builtin_prefetch(y + r * y_stride + v * kLanes, 1, 3); });
  });
  for (int i = 0; i < depth; ++i) {
    prefetch(w + strip.next);
    prefetch(w + strip.next + kLanes);
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
    w += strip.stride;
    ++x;
  }
  store_tile(sum, y, y_stride);
}

/// y[r][o] = start[r][o] + sum_i x[r][i] w[i][o] for `depth` inputs; `tail` outputs in the last vector.
template <int kRows, int kVectors>
void forward_tile(const float* x, std::size_t x_stride, WeightStrip w, int depth, TileStart start, float* y, std::size_t y_stride,
                  int tail) {
  if (tail == kLanes)
    forward_loop<kRows, kVectors, false>(x, x_stride, w, depth, start, y, y_stride, tail);
  else
    forward_loop<kRows, kVectors, true>(x, x_stride, w, depth, start, y, y_stride, tail);
}

/// Sums over the outputs, with kSums vectors of sums in registers. The parts of the lanes take turns on a piece of the outputs
/// that stays in the first-level cache. body(sum, o, get, put) adds outputs o, o + 1, ...; get and put touch nothing after the
/// last output.
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
void data_tile(const float* dy, std::size_t dy_stride, const float* w, std::size_t w_stride, int outputs, float* to) {
  constexpr int kSums = kInputs * kRows;
  Lanes sums[kSumParts][kSums] = {};
  sum_outputs(outputs, sums, [&](auto& sum, int o, auto get, auto) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { prefetch(w + (kPrefetchInputs + i) * w_stride + o); });
    Lanes weight[kInputs];
    unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { weight[i] = get(w + i * w_stride + o); });
    unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
      const Lanes value = in_register(get(dy + r * dy_stride + o));
      unrolled<kInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { sum[i * kRows + r] = fma(value, weight[i], sum[i * kRows + r]); });
    });
  });
  constexpr int kPacked = (kSums + kLanes - 1) / kLanes;
  Lanes packed[kPacked];
  packed_sums(sums, packed);
  unrolled<kPacked>([&](auto i) FEDSTRIDE_INLINE_LAMBDA { store(to + i * kLanes, packed[i]); });
}

/// The numbers below kSumLanes in the order in which sum() adds the lanes: every number's bits are reversed.
constexpr auto kLaneOrder = [] {
  std::array<int, kSumLanes> order{};
  for (int bit = 1; bit < kSumLanes; bit *= 2)
    for (int i = 0; i < bit; ++i) {
      order[static_cast<std::size_t>(i)] *= 2;
      order[static_cast<std::size_t>(i + bit)] = order[static_cast<std::size_t>(i)] + 1;
    }
  return order;
}();

/// Where each lane's outputs begin if outputs are ordered by lane, lanes in the order in which sum() adds them.
std::array<int, kSumLanes> places_by_lane(int outputs) {
  std::array<int, kSumLanes> first{};
  for (int next = 0; const int lane : kLaneOrder) {
    first[static_cast<std::size_t>(lane)] = next;
    next += (outputs - lane + kSumLanes - 1) / kSumLanes;
  }
  return first;
}

/// Writes rows of `outputs` floats as columns, ordered by lane and `stride` floats apart, kLanes rows at a time; zeros for rows
/// that are missing. row(r) is row r.
FEDSTRIDE_INLINE void order_by_lane(auto&& row, int rows, int outputs, float* to, int stride) {
  const std::array<int, kSumLanes> first = places_by_lane(outputs);
  for (int r = 0; r < stride; r += kLanes)
    for (int o = 0; o < outputs; o += kLanes) {
      Lanes block[kLanes];
      const int here = std::min(kLanes, outputs - o);
      for (int k = 0; k < kLanes; ++k) block[k] = r + k < rows ? load_first(row(r + k) + o, here) : Lanes{};
      transpose(block);
      for (int k = 0; k < here; ++k)
        store(to + (first[static_cast<std::size_t>((o + k) % kSumLanes)] + (o + k) / kSumLanes) * stride + r, block[k]);
    }
}

/// Output gradients of a tile: rows as they are, kSumLanes floats from one output of a lane to the next, or, with a distance of 1
/// between rows, columns ordered by lane.
struct LaneGradients {
  const float* data;
  std::size_t row;
  std::size_t output;
};

/// dx[r][i] = sum_o dy[r][o] w[i][o] for kLaneInputs inputs, of which `width` are stored, with weights ordered by lane. The outputs of each lane of sum() are summed separately, with inputs along the vectors; these sums are then added
/// pairwise, as sum() adds its lanes.
template <int kRows>
void lane_tile(LaneGradients dy, const float* w, int outputs, float* dx, std::size_t dx_stride, int width) {
  constexpr int kVectors = kLaneInputs / kLanes;
  constexpr std::size_t kTile = kRows * kLaneInputs;
  alignas(64) float waiting[kLaneDepth * kTile];  // sums of 1, 2, 4 ... lanes that still need their partner
  Lanes sum[kRows][kVectors];
  int done = 0;
  const float* from = dy.data;
  for (const int lane : kLaneOrder) {
    unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[r][v] = Lanes{}; });
    });
    if (dy.row != 1) from = dy.data + lane;
    for (int o = lane; o < outputs; o += kSumLanes, from += dy.output, w += kLaneInputs) {
      Lanes weight[kVectors];
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { weight[v] = load(w + v * kLanes); });
      unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
        const Lanes value = broadcast(from[r * dy.row]);
        unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[r][v] = fma(value, weight[v], sum[r][v]); });
      });
    }
    int waits = 0;
    for (; (done >> waits & 1) != 0; ++waits)
      unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
        unrolled<kVectors>(
            [&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[r][v] += load(waiting + waits * kTile + r * kLaneInputs + v * kLanes); });
      });
    if (++done < kSumLanes) store_tile(sum, waiting + waits * kTile, kLaneInputs);
  }
  if (width == kLaneInputs) return store_tile(sum, dx, dx_stride);
  unrolled<kRows>([&](auto r) FEDSTRIDE_INLINE_LAMBDA {
    unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA {
      store_first(dx + r * dx_stride + v * kLanes, sum[r][v], std::clamp(width - v * kLanes, 0, kLanes));
    });
  });
}

enum class WeightSum {
  rows,    ///< dw[i][o] = sum_r x[r][i] dy[r][o]
  chosen,  ///< dw[i][o] = sum_r x[examples[r]][i] dy[r][o]
  added    ///< dw[i][o] += sum_r x[r][i] dy[r][o]
};

/// The last vector has `tail` outputs.
template <int kInputs, int kVectors, WeightSum kSum>
void weight_tile(const float* x, std::size_t x_stride, [[maybe_unused]] const int* examples, const float* dy,
                 std::size_t dy_stride, int rows, float* dw, std::size_t dw_stride, int tail) {
  Lanes sum[kInputs][kVectors] = {};
  if constexpr (kSum == WeightSum::added) load_tile(sum, dw, dw_stride, tail);
  for (int r = 0; r < rows; ++r) {
    const float* inputs = x;
    if constexpr (kSum == WeightSum::chosen)
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
  if (tail == kLanes)
    store_tile(sum, dw, dw_stride);
  else
    store_tile(sum, dw, dw_stride, tail);
}

/// Computes the gradients with respect to inputs and weights for two inputs, loading the output gradients once for both. sums has
/// the layout of data_tile's result; dw[i][o] = sum_r factors[r][i] dy[r][o].
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
constexpr int kWeightOutputs = kWeightVectors * kLanes;
constexpr int kPackedRows = 128;
template <int kInputs>
constexpr auto weight_tiles() {  // indexed by WeightSum
  return tile_table<3, kWeightVectors>(
      []<int kSum, int kVectors>() { return &weight_tile<kInputs, kVectors, WeightSum{kSum - 1}>; });
}
constexpr auto kForwardTiles = tile_table<2, kMaxRows>([]<int kVectors, int kRows>() { return &forward_tile<kRows, kVectors>; });
constexpr auto kDataTiles = tile_table<2, kMaxRows>([]<int kInputs, int kRows>() { return &data_tile<kRows, kInputs>; });
constexpr auto kBothTiles = tile_table<1, kMaxRows>([]<int, int kRows>() { return &both_tile<kRows>; })[0];
constexpr auto kLaneTiles = tile_table<1, kMaxRows>([]<int, int kRows>() { return &lane_tile<kRows>; })[0];
constexpr auto kWeightTiles1 = weight_tiles<1>();
constexpr auto kWeightTiles4 = weight_tiles<kWeightInputs>();

/// Copies `width` columns, a strip after the other, with zeros in a strip's missing columns.
void pack_columns(const float* from, int stride, int depth, int width, float* to) {
  for (; width > 0; width -= kStripOutputs, from += kStripOutputs)
    for (int k = 0; k < depth; ++k, to += kStripOutputs) {
      const float* const row = from + static_cast<std::size_t>(k) * stride;
      store(to, load_first(row, std::min(width, kLanes)));
      store(to + kLanes, width > kLanes ? load_first(row + kLanes, std::min(width - kLanes, kLanes)) : Lanes{});
    }
}

/// Computes the products of a strip of at most kStripOutputs outputs, from output `o`, with `depth` inputs from input `i`, whose
/// weights are w.
FEDSTRIDE_INLINE void forward_strip(Rows x, int row, int rows, int i, int depth, WeightStrip w, const float* bias, Rows y, int o,
                                    int last) {
  static constexpr float kZeros[kStripOutputs] = {};
  const int width = std::min(kStripOutputs, last - o);
  const auto& tiles = kForwardTiles[width > kLanes ? 1 : 0];
  const int tail = width > kLanes ? width - kLanes : width;
  const TileStart start = i > 0 ? TileStart{y[row] + o, y.stride} : TileStart{bias == nullptr ? kZeros : bias + o, 0};
  tiles[rows - 1](x[row] + i, x.stride, w, depth, start, y[row] + o, y.stride, tail);
}

/// Computes weight gradients of at most kWeightInputs inputs and `width` outputs, with the tile function for these numbers.
void weight_tiles_of(int inputs, WeightSum sum, const float* x, std::size_t x_stride, const int* examples, const float* dy,
                     std::size_t dy_stride, int rows, float* dw, int outputs, int width) {
  const int vectors = (width + kLanes - 1) / kLanes;
  const int tail = width - (vectors - 1) * kLanes;
  const bool whole = inputs == kWeightInputs;
  const auto tile = (whole ? kWeightTiles4 : kWeightTiles1)[static_cast<std::size_t>(sum)][vectors - 1];
  for (int i = 0; i < inputs; i += whole ? kWeightInputs : 1)
    tile(x + i, x_stride, examples, dy, dy_stride, rows, dw + static_cast<std::size_t>(i) * outputs, outputs, tail);
}

/// dw[i][o] = sum_r inputs[r][i] dy[r][o] for kWeightInputs inputs, of which `stored` are stored, and kLanes outputs, of which
/// `width` are; added to dw if `adds`. Neither factor has gaps.
void weight_sums(const double* inputs, const double* dy, int rows, int stored, double* dw, std::size_t dw_stride, int width,
                 bool adds) {
  constexpr int kVectors = 2;  // a vector of floats
  DoubleLanes sum[kWeightInputs][kVectors] = {};
  for (int r = 0; r < rows; ++r, inputs += kWeightInputs, dy += kLanes) {
    const DoubleLanes value[kVectors] = {in_register(load(dy)), in_register(load(dy + kDoubleLanes))};
    unrolled<kWeightInputs>([&](auto i) FEDSTRIDE_INLINE_LAMBDA {
      const DoubleLanes input = inputs[i] - DoubleLanes{};
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { sum[i][v] = add_product(value[v], input, sum[i][v]); });
    });
  }
  for (int i = 0; i < stored; ++i, dw += dw_stride) {
    alignas(64) double row[kLanes];
    double* const to = width == kLanes ? dw : row;
    if (adds && width < kLanes) std::copy_n(dw, width, row);
    for (std::size_t v = 0; v < kVectors; ++v)
      store(to + v * kDoubleLanes, adds ? load(to + v * kDoubleLanes) + sum[i][v] : sum[i][v]);
    if (width < kLanes) std::copy_n(row, width, dw);
  }
}

/// For many rows: processes some rows at a time, in order, so sums round as in one pass. The tile's part of these rows is copied
/// to adjacent memory, inputs once for all outputs and output gradients once for all inputs.
void packed_weight_gradient(Rows x, const OutputGradients& dy, int outputs, int first, int last, float* dw) {
  alignas(64) float inputs[kPackedRows * kPackedInputs];
  alignas(64) float gradients[kPackedRows * kWeightOutputs];
  for (int from = first; from < last; from += kPackedInputs) {
    const int to = std::min(from + kPackedInputs, last);
    for_blocks(dy.count, kPackedRows, [&](int row, int rows) {
      for (int r = 0; r < rows; ++r) {
        const float* const values = x[dy.examples == nullptr ? row + r : dy.examples[row + r]];
        for (int i = from; i < to; i += kWeightInputs)
          std::copy_n(values + i, std::min(kWeightInputs, to - i), inputs + (i - from) * rows + r * kWeightInputs);
      }
      for (int o = 0; o < outputs; o += kWeightOutputs) {
        const int width = std::min(kWeightOutputs, outputs - o);
        for (int r = 0; r < rows; ++r)
          for (int v = 0; v < width; v += kLanes) store(gradients + r * kWeightOutputs + v, load(dy.values[row + r] + o + v));
        for (int i = from; i < to; i += kWeightInputs)
          weight_tiles_of(std::min(kWeightInputs, to - i), row == 0 ? WeightSum::rows : WeightSum::added,
                          inputs + (i - from) * rows, kWeightInputs, nullptr, gradients, kWeightOutputs, rows,
                          dw + static_cast<std::size_t>(i - first) * outputs + o, outputs, width);
      }
    });
  }
}

}  // namespace

void dense_forward(Rows x, int rows, int inputs, const float* w, int outputs, const float* bias, bool relu, Rows y, int first,
                   int last) {
  const auto stride = static_cast<std::size_t>(outputs);
  if ((rows >= kMinRowsToPack && outputs > kLanes && outputs % kLanes != 0) ||
      (rows >= kMinRowsToPackCrowded && outputs % kCrowdedOutputs == 0)) {
    const int group = std::max(1, kPackedFloats / (kStripOutputs * inputs)) * kStripOutputs;
    for (int o = first; o < last; o += group) {
      const int here = std::min(group, last - o);
      float* const packed = thread_scratch<Scratch::packed>(packed_weights_size(inputs, here));
      pack_columns(w + o, outputs, inputs, here, packed);
      dense_forward_packed(x, rows, inputs, packed, here, bias == nullptr ? nullptr : bias + o, {y.data + o, y.stride});
    }
  } else {
    for (int i = 0; i < inputs; i += kInputChunk) {
      const std::size_t next = i + kInputChunk < inputs ? kInputChunk * stride : 0;  // the next inputs' weights, same outputs
      for_blocks(rows, kMaxRows, [&](int row, int count) {
        for (int o = first; o < last; o += kStripOutputs)
          forward_strip(x, row, count, i, std::min(kInputChunk, inputs - i), {w + i * stride + o, stride, next}, bias, y, o,
                        last);
      });
    }
  }
  if (relu)
    for (int r = 0; r < rows; ++r)
      for (int o = first; o < last; o += kLanes) store(y[r] + o, positive(load(y[r] + o)));
}

std::size_t packed_weights_size(int inputs, int outputs) {
  return static_cast<std::size_t>((outputs + kStripOutputs - 1) / kStripOutputs) * inputs * kStripOutputs;
}

void pack_weights(const float* w, int inputs, int outputs, float* to) { pack_columns(w, outputs, inputs, outputs, to); }

void dense_forward_packed(Rows x, int rows, int inputs, const float* packed, int outputs, const float* bias, Rows y) {
  for (int begin = 0; begin < rows; begin += kForwardRows)
    for (int o = 0; o < outputs; o += kStripOutputs) {
      const float* weights = packed + static_cast<std::size_t>(o) * inputs;
      int i = 0;
      do {  // without inputs, the results are the biases
        const int depth = std::min(kDepth, inputs - i);
        const bool is_last = i + kDepth >= inputs && o + kStripOutputs >= outputs;
        const std::size_t next = is_last ? 0 : static_cast<std::size_t>(depth) * kStripOutputs;
        for_blocks(std::min(kForwardRows, rows - begin), kMaxRows, [&](int row, int count) {
          forward_strip(x, begin + row, count, i, depth, {weights, kStripOutputs, next}, bias, y, o, outputs);
        });
        weights += depth * kStripOutputs;
        i += kDepth;
      } while (i < inputs);
    }
}

void dense_data_gradient(Rows dy, int rows, const float* w, int outputs, Rows dx, int first, int last) {
  if (rows >= outputs / kOutputsPerRow) {
    const int group = std::max(1, kPackedFloats / (kLaneInputs * outputs)) * kLaneInputs;
    for (int i = first; i < last; i += group) {
      const int inputs = std::min(group, last - i);
      float* const packed = thread_scratch<Scratch::packed>(packed_by_lane_size(inputs, outputs));
      pack_weights_by_lane(w + static_cast<std::size_t>(i) * outputs, inputs, outputs, packed);
      dense_data_gradient_packed(dy, rows, packed, inputs, outputs, {dx.data + i, dx.stride});
    }
    return;
  }
  const auto stride = static_cast<std::size_t>(outputs);
  row_products(dy.data, dy.stride, rows, w + static_cast<std::size_t>(first) * stride, stride, last - first, outputs,
               {dx.data + first, dx.stride});
}

void row_products(const float* a, std::size_t a_stride, int rows, const float* b, std::size_t b_stride, int columns, int size,
                  Rows y) {
  alignas(64) float sums[whole_lanes(2 * kMaxRows)];
  for_blocks(rows, kMaxRows, [&](int row, int count) {
    for (int i = 0; i < columns; i += 2) {
      const bool two = i + 1 < columns;
      kDataTiles[two ? 1 : 0][count - 1](a + static_cast<std::size_t>(row) * a_stride, a_stride,
                                         b + static_cast<std::size_t>(i) * b_stride, b_stride, size, sums);
      for (int r = 0; r < count; ++r) y[row + r][i] = sums[r];
      if (two)
        for (int r = 0; r < count; ++r) y[row + r][i + 1] = sums[count + r];
    }
  });
}

std::size_t packed_by_lane_size(int inputs, int outputs) {
  return static_cast<std::size_t>((inputs + kLaneInputs - 1) / kLaneInputs) * kLaneInputs * static_cast<std::size_t>(outputs);
}

void pack_weights_by_lane(const float* w, int inputs, int outputs, float* to) {
  const auto stride = static_cast<std::size_t>(outputs);
  for (int i = 0; i < inputs; i += kLaneInputs, to += kLaneInputs * stride)
    order_by_lane([&](int k) { return w + static_cast<std::size_t>(i + k) * stride; }, inputs - i, outputs, to, kLaneInputs);
}

void dense_data_gradient_packed(Rows dy, int rows, const float* packed, int inputs, int outputs, Rows dx) {
  const bool ordered = inputs >= kMinInputsToOrder;
  const std::size_t tile = static_cast<std::size_t>(outputs) * kLaneStride;
  float* const gradients = ordered ? thread_scratch<Scratch::gradients_by_lane>(kLaneRows / kMaxRows * tile) : nullptr;
  for_blocks(rows, kLaneRows, [&](int begin, int here) {
    if (ordered)
      for_blocks(here, kMaxRows, [&, to = gradients](int row, int count) mutable {
        order_by_lane([&](int r) { return dy[begin + row + r]; }, count, outputs, to, kLaneStride);
        to += tile;
      });
    for (int i = 0; i < inputs; i += kLaneInputs)
      for_blocks(here, kMaxRows, [&, from = gradients](int row, int count) mutable {
        const LaneGradients rows_of_tile =
            ordered ? LaneGradients{from, 1, kLaneStride} : LaneGradients{dy[begin + row], dy.stride, kSumLanes};
        kLaneTiles[count - 1](rows_of_tile, packed + static_cast<std::size_t>(i) * outputs, outputs, dx[begin + row] + i,
                              dx.stride, std::min(kLaneInputs, inputs - i));
        if (ordered) from += tile;
      });
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

bool packs_weight_gradient(int rows, int outputs) {
  constexpr std::int64_t kInCache = 8192;  // floats of output gradients: 32 KiB
  return static_cast<std::int64_t>(rows) * outputs > kInCache;
}

void dense_weight_gradient(Rows x, const OutputGradients& dy, int outputs, int first, int last, float* dw) {
  if (last - first > kWeightInputs && packs_weight_gradient(dy.count, outputs))
    return packed_weight_gradient(x, dy, outputs, first, last, dw);
  const auto sum = dy.examples == nullptr ? WeightSum::rows : WeightSum::chosen;
  for (int i = first; i < last; i += kWeightInputs) {
    const int inputs = std::min(kWeightInputs, last - i);
    for (int o = 0; o < outputs; o += kWeightOutputs)
      weight_tiles_of(inputs, sum, x.data + i, x.stride, dy.examples, dy.values.data + o, dy.values.stride, dy.count,
                      dw + static_cast<std::size_t>(i - first) * outputs + o, outputs, std::min(kWeightOutputs, outputs - o));
  }
}

void dense_weight_sums(Rows x, const OutputGradients& dy, int outputs, int first, int last, double* dw) {
  if (dy.count == 0) std::fill_n(dw, static_cast<std::size_t>(last - first) * outputs, 0.0);
  alignas(64) double inputs[kPackedRows * kPackedInputs];
  alignas(64) double gradients[kPackedRows * kLanes];
  for (int from = first; from < last; from += kPackedInputs)
    for_blocks(dy.count, kPackedRows, [&](int row, int rows) {
      const int to = std::min(from + kPackedInputs, last);
      for (int r = 0; r < rows; ++r) {
        const float* const values = x[dy.examples == nullptr ? row + r : dy.examples[row + r]];
        for (int i = from; i < to; i += kWeightInputs)
          for (int k = 0; k < kWeightInputs; ++k)
            inputs[(i - from) * rows + r * kWeightInputs + k] = i + k < to ? static_cast<double>(values[i + k]) : 0;
      }
      for (int o = 0; o < outputs; o += kLanes) {
        for (int r = 0; r < rows; ++r)
          for (std::size_t v = 0; v < kLanes; v += kDoubleLanes)
            store(gradients + r * kLanes + v, load_doubles(dy.values[row + r] + o + v));
        for (int i = from; i < to; i += kWeightInputs)
          weight_sums(inputs + (i - from) * rows, gradients, rows, std::min(kWeightInputs, to - i),
                      dw + static_cast<std::size_t>(i - first) * outputs + o, static_cast<std::size_t>(outputs),
                      std::min(kLanes, outputs - o), row > 0);
      }
    });
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
  int o = 0;
  const auto sum_vectors = [&]<int kVectors>(std::integral_constant<int, kVectors>) {
    for (; o + (kVectors - 1) * kLanes < outputs; o += kVectors * kLanes) {
      Lanes total[kVectors] = {};
      for (int r = 0; r < dy.count; ++r)
        unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { total[v] += load(dy.values[r] + o + v * kLanes); });
      unrolled<kVectors>([&](auto v) FEDSTRIDE_INLINE_LAMBDA { store(sums + o + v * kLanes, total[v]); });
    }
  };
  sum_vectors(std::integral_constant<int, 8>{});  // a row's adjacent lines are read together
  sum_vectors(std::integral_constant<int, 1>{});
}

void relu_mask(Rows value, Rows gradient, int rows, std::size_t size) {
  for (int r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < size; i += kLanes)
      store(gradient[r] + i, load(value[r] + i) > Lanes{} ? load(gradient[r] + i) : Lanes{});
}

}  // namespace fedstride
