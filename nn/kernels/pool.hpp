#pragma once

#include <cstddef>
#include <cstdint>

namespace fedstride {

/// A square window that slides over an image.
struct Window {
  int kernel = 1;
  int stride = 1;
};

/// A window's places are numbered row by row, in a single byte.
inline constexpr int kMaxPlaces = 256;

/// One row of a max-pool over rows of `padded` channels (whole vectors): rows[j] is row j of the windows. Writes to[x][c] for
/// c < channels, without gaps, and winners[x][c] with `padded` channels: the first of the window's places, counted row by row,
/// that holds its largest value. relu: negative results become 0. winners may be null.
void max_pool_row(const float* const* rows, Window window, int width, int channels, bool relu, float* to, std::uint8_t* winners);

/// to[x][c] = from[x][c]; `from` has channels padded to whole vectors, `to` has no gaps. relu: negative values become 0.
void unpad_row(const float* from, int width, int channels, bool relu, float* to);

}  // namespace fedstride
