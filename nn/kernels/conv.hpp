#pragma once

#include <cstddef>
#include <cstdint>

#include "core/shape.hpp"

namespace fedstride {

/// A convolution as the kernels see it: one image, with borders already added, channels innermost.
struct ConvShape {
  Shape input;   ///< borders included
  Shape output;  ///< before any pooling
  int kernel = 1;
  int stride = 1;

  /// Floats from the start of one input row to the next.
  std::size_t pitch() const { return static_cast<std::size_t>(input.width) * input.channels; }
  /// Floats in one kernel row over all input channels, contiguous in both input and filter.
  int stretch() const { return kernel * input.channels; }
  /// The number of weights in one filter, laid out as [row][column][input].
  int filter_size() const { return kernel * stretch(); }
  /// The index in the input at which the receptive field of output (y, x) begins.
  std::size_t source(int y, int x) const {
    return static_cast<std::size_t>(y) * stride * pitch() + static_cast<std::size_t>(x) * stride * input.channels;
  }
};

/// to = the image `from`, of shape `shape` without gaps, with `border` zeros on each side.
void add_border(const float* from, Shape shape, int border, float* to);

/// packed[k][o] = filters[o][k], o padded with zeros to whole vectors: `size` x whole_lanes(channels) floats.
void pack_filters(const float* filters, int channels, int size, float* packed);

/// One row of outputs: to[x][o] = bias[o] + sum_k input[source + k] packed[k][o], with o padded to whole vectors, also in bias.
void conv_row(const ConvShape& shape, const float* input, const float* packed, const float* bias, int y, float* to);

/// The outputs of one filter in one image that a gradient reaches: for each, the index in the input at which its receptive field
/// begins, and its gradient. Neighbors with the same source may be merged.
struct SpotList {
  const std::uint32_t* sources = nullptr;
  const float* gradients = nullptr;
  int count = 0;
};

/// Memory for the spots of `channels` filters; the spots of filter c begin at c * capacity, where capacity >=
/// spot_capacity(places).
struct SpotStore {
  std::uint32_t* sources;
  float* gradients;
  int* counts;
  std::size_t capacity;
};

constexpr std::size_t spot_capacity(std::size_t places) { return (places + 15) / 16 * 16 + 16; }

/// Lists the non-zero gradients of one image, [place][channel] without gaps, `width` places per row. bases[place] is the source
/// of the place's first output; winners[place][channel], with channels padded to whole vectors, selects which of the window's
/// shifts (room for at least 16) is added to the source. If winners is null, none is added. With `values`, gradients whose value
/// is not positive are omitted (ReLU).
void list_spots(const float* gradients, const float* values, const std::uint32_t* bases, const std::uint8_t* winners,
                const std::uint32_t* shifts, int window_places, std::size_t places, int width, int channels,
                const SpotStore& store);

/// input_gradient[source + k] += gradient * filter[k] for every spot of one filter in one image.
void conv_data_gradient(const ConvShape& shape, const SpotList& spots, const float* filter, float* input_gradient);

/// filter_gradient[k] += the sum over images and spots of gradient * input[source + k]; returns the sum of the gradients, which
/// is the gradient of the bias.
float conv_filter_gradient(const ConvShape& shape, const float* const* inputs, const SpotList* lists, int pictures,
                           float* filter_gradient);

/// filter_gradient[f][k] += the sum over outputs (y, x) of dy[y][x][f] * input[source + k], for `filters` filters; meant for
/// gradients with few zeros. dy has dy_channels >= filters channels.
void conv_dense_filter_gradient(const ConvShape& shape, const float* input, const float* dy, int dy_channels, int filters,
                                float* filter_gradient);

/// sums[f] += the sum of dy[place][f] over places: the gradient of the bias.
void sum_places(const float* dy, std::size_t places, int dy_channels, int filters, float* sums);

}  // namespace fedstride
