#include "data/idx.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/error.hpp"
#include "data/data_folder.hpp"
#include "data/input_file.hpp"

namespace fedstride {
namespace {

namespace fs = std::filesystem;

constexpr int kIdxClasses = 10;
constexpr std::uint32_t kMaxSidePixels = 1024;
constexpr std::uint64_t kMaxContentBytes = std::uint64_t{4} << 30;

/// Checks the magic number and returns the sizes after it; the first is the number of records.
template <std::size_t Dimensions>
std::array<std::uint32_t, Dimensions> read_header(InputFile& file) {
  std::array<std::uint8_t, 4 + 4 * Dimensions> bytes{};
  if (file.read(bytes) != bytes.size()) throw failure(file.name() + " is too short for an idx file");
  if (bytes[0] != 0 || bytes[1] != 0 || bytes[2] != 8 || bytes[3] != Dimensions)
    throw failure(file.name() + " is not an idx file of bytes in " + std::to_string(Dimensions) +
                  " dimensions: it must begin with the bytes 0 0 8 " + std::to_string(Dimensions));
  std::array<std::uint32_t, Dimensions> sizes{};
  for (std::size_t i = 0; i < Dimensions; ++i)
    for (std::size_t k = 0; k < 4; ++k) sizes[i] = sizes[i] << 8 | bytes[4 + 4 * i + k];
  return sizes;
}

/// Reads exactly the bytes that the header names; memory grows with the bytes present, not with the header's numbers.
std::vector<std::uint8_t> read_contents(InputFile& file, std::uint32_t records, std::uint64_t record_size) {
  const std::uint64_t total = records * record_size;
  if (total > kMaxContentBytes)
    throw failure(file.name() + " names " + std::to_string(total) + " bytes of contents; at most " +
                  std::to_string(kMaxContentBytes) + " are read");
  std::vector<std::uint8_t> contents;
  constexpr std::uint64_t kChunk = std::uint64_t{8} << 20;
  while (contents.size() < total) {
    const std::size_t before = contents.size();
    contents.resize(before + std::min(kChunk, total - before));
    const std::size_t count = file.read(std::span(contents).subspan(before));
    if (before + count < contents.size())
      throw failure(file.name() + " is cut off: its header names " + std::to_string(records) + " records, it holds " +
                    std::to_string((before + count) / record_size) +
                    ((before + count) % record_size == 0 ? "" : " and a fraction of one"));
  }
  if (std::array<std::uint8_t, 1> more{}; file.read(more) != 0)
    throw failure(file.name() + " holds more than the " + std::to_string(records) + " records that its header names");
  return contents;
}

DataPair load_pair(const fs::path& folder) {
  const auto part = [&](const std::string& prefix) {
    return read_idx(plain_or_gzipped(folder, prefix + "-images-idx3-ubyte"),
                    plain_or_gzipped(folder, prefix + "-labels-idx1-ubyte"));
  };
  return {part("train"), part("t10k"), {}};
}

}  // namespace

Dataset read_idx(const fs::path& images, const fs::path& labels) {
  InputFile image_file(images);
  InputFile label_file(labels);
  const auto [count, height, width] = read_header<3>(image_file);
  const auto [label_count] = read_header<1>(label_file);
  if (count == 0) throw failure(image_file.name() + " holds no record");
  if (height == 0 || width == 0 || height > kMaxSidePixels || width > kMaxSidePixels)
    throw failure(image_file.name() + " has pictures of " + std::to_string(height) + "x" + std::to_string(width) +
                  " pixels; valid: 1 to " + std::to_string(kMaxSidePixels) + " a side");
  if (count != label_count)
    throw failure(image_file.name() + " has " + std::to_string(count) + " records, " + label_file.name() + " has " +
                  std::to_string(label_count));
  Dataset data;
  data.shape = {static_cast<int>(height), static_cast<int>(width), 1};
  data.classes = kIdxClasses;
  const auto bytes = read_contents(label_file, count, 1);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] >= kIdxClasses)
      throw failure(label_file.name() + ", record " + std::to_string(i) + " (counted from 0): label " + std::to_string(bytes[i]) +
                    " is out of range; valid: 0 to " + std::to_string(kIdxClasses - 1));
  data.labels.assign(bytes.begin(), bytes.end());
  data.pixels = read_contents(image_file, count, std::uint64_t{height} * width);
  return data;
}

DataPair load_mnist(const fs::path& folder) {
  DataPair pair = load_pair(folder);
  pair.train.mean = {0.1307F};
  pair.train.deviation = {0.3081F};
  return pair;
}

DataPair load_fashion_mnist(const fs::path& folder) {
  DataPair pair = load_pair(folder);
  pair.train.class_names = {"T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"};
  pair.train.mean = {0.2860F};
  pair.train.deviation = {0.3530F};
  return pair;
}

}  // namespace fedstride
