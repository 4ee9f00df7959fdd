#include <doctest/doctest.h>

#include "data/datasets.hpp"
#include "data/files/readers.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::idx_test {
namespace {

std::string header(int type, std::initializer_list<std::uint32_t> sizes) {
  std::string bytes{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const auto size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  return bytes;
}

/// `count` pictures of 2x3 pixels, numbered through from 0.
std::string images(std::uint32_t count) {
  std::string bytes = header(8, {count, 2, 3});
  for (std::uint32_t i = 0; i < count * 6; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string labels(std::initializer_list<int> values) {
  std::string bytes = header(8, {static_cast<std::uint32_t>(values.size())});
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

struct Files {
  TemporaryFolder folder;
  Dataset read(std::string_view image_bytes, std::string_view label_bytes) const {
    const ReadSettings settings{.classes = 10};
    Assembly both("the pictures", "none", settings);
    read_idx_files(write(folder / "images", image_bytes), write(folder / "labels", label_bytes), both, false);
    return both.finish(false).train;
  }
};

}  // namespace

TEST_CASE("idx files read the same gzipped or not") {
  const Files files;
  for (const bool packed : {false, true}) {
    const Dataset data =
        files.read(packed ? gzipped(images(3)) : images(3), packed ? gzipped(labels({4, 0, 9})) : labels({4, 0, 9}));
    CHECK(data.shape == Shape{2, 3, 1});
    CHECK(data.labels == std::vector<Label>{4, 0, 9});
    REQUIRE(data.pixels.size() == 18);
    CHECK(data.pixels[17] == 17);
    CHECK(data.classes == 10);
  }
}

TEST_CASE("MNIST is four files, each gzipped or not, with one normalization for both parts") {
  const TemporaryFolder folder;
  write(folder / "mnist/train-images-idx3-ubyte", images(2));
  write(folder / "mnist/train-labels-idx1-ubyte.gz", gzipped(labels({1, 2})));
  write(folder / "mnist/t10k-images-idx3-ubyte.gz", gzipped(images(1)));
  write(folder / "mnist/t10k-labels-idx1-ubyte", labels({3}));
  const DataPair pair = load_dataset("mnist", {folder.path().string()});
  CHECK(pair.train.size() == 2);
  CHECK(pair.test.size() == 1);
  CHECK(pair.test.mean == std::vector<float>{0.1307F});
  CHECK(pair.test.deviation == std::vector<float>{0.3081F});
  std::filesystem::remove(folder / "mnist/t10k-labels-idx1-ubyte");
  CHECK_FAILURE(load_dataset("mnist", {folder.path().string()}), "t10k-labels-idx1-ubyte");
}

TEST_CASE("an idx file that is cut off, in a record or between two, is an error that says how much is there") {
  const Files files;
  CHECK_FAILURE(files.read(images(3).substr(0, 16 + 12), labels({1, 2, 3})), "images", "3", "2");
  CHECK_FAILURE(files.read(images(3).substr(0, 16 + 13), labels({1, 2, 3})), "2");
  CHECK_FAILURE(files.read(images(3), labels({1, 2, 3}).substr(0, 10)), "labels", "3", "2");
  CHECK_FAILURE(files.read("\0\0\x8", labels({1})), "images");
}

TEST_CASE("a gzip stream that is cut off or damaged is an error") {
  const Files files;
  const std::string packed = gzipped(images(40));
  const std::string many = header(8, {40}) + std::string(40, '\1');
  CHECK_FAILURE(files.read(packed.substr(0, packed.size() - 12), many), "images");
  std::string damaged = packed;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // its checksum
  CHECK_FAILURE(files.read(damaged, many), "'" + (files.folder / "images") + "'");
}

TEST_CASE("more bytes than an idx header names are an error") {
  const Files files;
  CHECK_FAILURE(files.read(images(2) + "x", labels({1, 2})), "2");
}

TEST_CASE("another magic number is an error, as is a label file in place of an image file") {
  const Files files;
  CHECK_FAILURE(files.read(header(0x0d, {1, 2, 3}) + "abcdef", labels({1})), "images");
  CHECK_FAILURE(files.read(labels({1, 2, 3, 4, 5, 6, 7, 8, 9, 0}), labels({1})), "images");
}

TEST_CASE("counts that differ, no record, and pictures without pixels are errors") {
  const Files files;
  CHECK_FAILURE(files.read(images(2), labels({1, 2, 3})), "2");
  CHECK_FAILURE(files.read(images(0), labels({})), "images");
  CHECK_FAILURE(files.read(header(8, {1, 0, 3}), labels({1})), "images", "0x3");
}

TEST_CASE("an idx label out of range names file, record and label") {
  const Files files;
  CHECK_FAILURE(files.read(images(3), labels({1, 2, 10})), "labels", "record 2", "10", "0 to 9");
}

TEST_CASE("a header that promises gigabytes asks for no memory") {
  const Files files;
  CHECK_FAILURE(files.read(header(8, {4'000'000, 32, 32}) + "x", header(8, {4'000'000}) + "\1"), "1");
  CHECK_FAILURE(files.read(header(8, {0xffffffff, 1024, 1024}), header(8, {0xffffffff})), "images", "1099511627776");
}

}  // namespace fedstride::test::idx_test
