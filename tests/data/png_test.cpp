#include "data/png.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include "data/datasets.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::png_test {
namespace {

std::uint32_t number_at(const std::string& file, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(file[at + i]);
  return number;
}

/// The lines of a PNG file, each after its filter's byte; checks every chunk's length and checksum.
std::string unpacked(const std::string& file, std::size_t size) {
  CHECK(file.substr(0, 8) == "\x89PNG\r\n\x1a\n");
  std::string packed;
  for (std::size_t at = 8; at < file.size();) {
    const std::uint32_t length = number_at(file, at);
    const std::string checked = file.substr(at + 4, length + 4);
    CHECK(number_at(file, at + 8 + length) ==
          crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size())));
    if (checked.starts_with("IDAT")) packed += checked.substr(4);
    at += 12 + length;
  }
  std::string lines(size, '\0');
  uLongf count = size;
  CHECK(uncompress(reinterpret_cast<Bytef*>(lines.data()), &count, reinterpret_cast<const Bytef*>(packed.data()),
                   packed.size()) == Z_OK);
  CHECK(count == size);
  return lines;
}

}  // namespace

TEST_CASE("a PNG file has the picture's lines, its size and whole chunks") {
  const std::vector<std::uint8_t> pixels{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::string color = png(pixels, 2, 2, 3);
  CHECK(number_at(color, 16) == 2);
  CHECK(number_at(color, 20) == 2);
  CHECK(color[24] == 8);
  CHECK(color[25] == 2);
  CHECK(unpacked(color, 14) == std::string("\0\1\2\3\4\5\6\0\7\x8\x9\xa\xb\xc", 14));
  CHECK(png(pixels, 4, 3, 1)[25] == 0);
}

TEST_CASE("a sheet has a line a class with its first pictures") {
  Dataset data;
  data.shape = {2, 2, 1};
  data.classes = 2;
  data.labels = {1, 0, 1};
  data.pixels = {10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33};
  const std::string sheet = contact_sheet(data, 2);
  CHECK(number_at(sheet, 16) == 10);
  CHECK(number_at(sheet, 20) == 10);
  const std::string lines = unpacked(sheet, 110);
  const auto pixel = [&](int x, int y) {
    return static_cast<int>(static_cast<unsigned char>(lines[static_cast<std::size_t>(y) * 11 + 1 + x]));
  };
  CHECK(pixel(2, 2) == 20);
  CHECK(pixel(3, 3) == 23);
  CHECK(pixel(6, 2) == 96);
  CHECK(pixel(2, 6) == 10);
  CHECK(pixel(7, 7) == 33);
  data.shape = {1, 1, 4};
  CHECK_USAGE_ERROR(contact_sheet(data), "png", "1x1x4");
}

}  // namespace fedstride::test::png_test
