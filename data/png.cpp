#include "data/png.hpp"

#include <png.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "core/error.hpp"

namespace fedstride {
namespace {

constexpr int kMaxSheetClasses = 256;
constexpr int kSheetGap = 2;  // pixels between images

/// The sheet being filled.
struct Sheet {
  int width = 0;
  int height = 0;
  int channels = 1;
  std::vector<std::uint8_t> pixels;
};

/// Writes one example with its upper left corner at (left, top).
void paste(const Dataset& data, Row row, int left, int top, Sheet& sheet) {
  const Shape& shape = data.shape;
  const std::size_t plane = static_cast<std::size_t>(shape.height) * shape.width;
  const std::size_t begin = data.place(row) * shape.size();
  float least = 0;
  float scale = 0;
  if (!data.is_pictures()) {
    const auto first = data.features.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto [low, high] = std::minmax_element(first, first + static_cast<std::ptrdiff_t>(shape.size()));
    least = *low;
    scale = *high > *low ? 255 / (*high - *low) : 0;
  }
  for (int y = 0; y < shape.height; ++y)
    for (int x = 0; x < shape.width; ++x) {
      const std::size_t at = static_cast<std::size_t>(y) * shape.width + x;
      std::uint8_t* to = sheet.pixels.data() + (static_cast<std::size_t>(top + y) * sheet.width + left + x) * sheet.channels;
      for (int c = 0; c < sheet.channels; ++c)
        to[c] = data.is_pictures()
                    ? data.pixels[begin + static_cast<std::size_t>(c) * plane + at]
                    : static_cast<std::uint8_t>(
                          (data.features[begin + at * shape.channels + static_cast<std::size_t>(c)] - least) * scale);
    }
}

}  // namespace

std::string png(std::span<const std::uint8_t> pixels, int width, int height, int channels) {
  const std::size_t line = static_cast<std::size_t>(width) * channels;
  if (width < 1 || height < 1 || (channels != 1 && channels != 3) || pixels.size() != line * static_cast<std::size_t>(height))
    throw std::invalid_argument("an image must have rows of width x 1 or width x 3 bytes");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  image.flags = PNG_IMAGE_FLAG_FAST;
  png_alloc_size_t size = 0;
  std::string file;
  if (png_image_write_get_memory_size(image, size, 0, pixels.data(), 0, nullptr) == 0) throw std::bad_alloc();
  file.resize(size);
  if (png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr) == 0) throw std::bad_alloc();
  file.resize(size);
  return file;
}

std::string contact_sheet(const Dataset& data, int across) {
  const Shape& shape = data.shape;
  if (data.vocabulary > 0 || shape.height * shape.width < 2)
    throw usage_error("png is given; the examples are " + data.form().text() + ", and only images can be shown");
  const int lines = std::min(kMaxSheetClasses, std::max(1, data.label_classes()));
  Sheet sheet{.width = across * (shape.width + kSheetGap) + kSheetGap,
              .height = lines * (shape.height + kSheetGap) + kSheetGap,
              .channels = shape.channels >= 3 ? 3 : 1,
              .pixels = {}};
  constexpr std::size_t kMaxSheetBytes = std::size_t{1} << 28;
  const std::size_t bytes = static_cast<std::size_t>(sheet.width) * sheet.height * sheet.channels;
  if (bytes > kMaxSheetBytes)
    throw usage_error("png is given; images of " + shape.text() + " in " + std::to_string(lines) +
                      " lines are too large for a sheet");
  sheet.pixels.assign(bytes, 96);
  std::vector<int> shown(static_cast<std::size_t>(lines), 0);
  for (Row row = 0; row < data.size(); ++row) {
    const int line = data.labels[row];
    if (line >= lines || shown[static_cast<std::size_t>(line)] == across) continue;
    const int column = shown[static_cast<std::size_t>(line)]++;
    paste(data, row, kSheetGap + column * (shape.width + kSheetGap), kSheetGap + line * (shape.height + kSheetGap), sheet);
  }
  return png(sheet.pixels, sheet.width, sheet.height, sheet.channels);
}

}  // namespace fedstride
