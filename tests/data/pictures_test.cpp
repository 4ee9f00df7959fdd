#include <doctest/doctest.h>
#include <turbojpeg.h>

#include <filesystem>

#include "core/files.hpp"
#include "data/datasets.hpp"
#include "data/files/readers.hpp"
#include "data/png.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::pictures_test {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 8;

std::vector<std::uint8_t> plain(int channels, std::uint8_t value, int side = kSide) {
  return std::vector<std::uint8_t>(static_cast<std::size_t>(side) * side * channels, value);
}

void put(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  write_file(file, bytes);
}
void put_png(const fs::path& file, int channels, std::uint8_t value, int side = kSide) {
  put(file, png(plain(channels, value, side), side, side, channels));
}

std::string jpeg(int channels, std::uint8_t value) {
  const tjhandle writer = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const auto pixels = plain(channels, value);
  REQUIRE(tjCompress2(writer, pixels.data(), kSide, 0, kSide, channels == 1 ? TJPF_GRAY : TJPF_RGB, &bytes, &size,
                      channels == 1 ? TJSAMP_GRAY : TJSAMP_444, 95, 0) == 0);
  std::string text(reinterpret_cast<const char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(writer);
  return text;
}

/// Three cats and three dogs to train on, one each to test on.
void write_pets(const TemporaryFolder& folder) {
  for (int i = 0; i < 3; ++i) {
    put_png(folder / ("train/dog/" + std::to_string(i) + ".png"), 3, static_cast<std::uint8_t>(10 * i));
    put(folder / ("train/cat/" + std::to_string(i) + ".JPG"), jpeg(3, static_cast<std::uint8_t>(100 + 10 * i)));
  }
  put_png(folder / "test/cat/a.png", 3, 200);
  put_png(folder / "test/dog/b.png", 3, 220);
}

}  // namespace

TEST_CASE("a folder of pictures has a folder for each class, and rows in order of paths") {
  const TemporaryFolder folder;
  write_pets(folder);
  put(folder / "train/cat/notes.txt", "no picture");
  put(folder / "train/.hidden/x.png", "no picture");
  const DataPair pair = load_own_files(folder.path(), {});
  CHECK(pair.train.shape == Shape{kSide, kSide, 3});
  CHECK(pair.train.class_names == std::vector<std::string>{"cat", "dog"});
  CHECK(pair.train.labels == std::vector<Label>{0, 0, 0, 1, 1, 1});
  CHECK(pair.test.labels == std::vector<Label>{0, 1});
  const auto first = [](const Dataset& data, std::size_t row) {
    return int{std::as_const(data.pixels)[row * kSide * kSide * 3]};
  };
  CHECK(first(pair.train, 1) == doctest::Approx(110).epsilon(0.02));  // JPEG loses a little
  CHECK(first(pair.train, 5) == 20);
  CHECK(first(pair.test, 1) == 220);
  bool said = false;
  for (const std::string& note : pair.notes) said = said || note.find("1 file not named") != note.npos;
  CHECK(said);
}

TEST_CASE("grey pictures have one channel, and --shape reads all in color or grey") {
  const TemporaryFolder folder;
  put_png(folder / "a/1.png", 1, 7);
  put(folder / "b/2.jpeg", jpeg(1, 90));
  CHECK(load_own_files(folder.path(), {}).train.shape == Shape{kSide, kSide, 1});
  CHECK(load_own_files(folder.path(), {.shape = "8x8x3"}).train.shape == Shape{kSide, kSide, 3});
  put_png(folder / "b/3.png", 3, 9);
  CHECK_FAILURE(load_own_files(folder.path(), {}), "b/3.png", "8x8x3", "8x8x1", "--shape");
  CHECK(load_own_files(folder.path(), {.shape = "8x8x1"}).train.size() == 3);
}

TEST_CASE("a folder for each client has in it those of the classes") {
  const TemporaryFolder folder;
  put_png(folder / "train/ann/cat/1.png", 3, 1);
  put_png(folder / "train/ann/dog/1.png", 3, 2);
  put_png(folder / "train/bob/dog/1.png", 3, 3);
  const DataPair pair = load_own_files(folder.path(), {.client_column = "folder"});
  CHECK(pair.train.client_names == std::vector<std::string>{"ann", "bob"});
  CHECK(pair.train.clients == std::vector<std::uint32_t>{0, 0, 1});
  CHECK(pair.train.labels == std::vector<Label>{0, 1, 1});
  CHECK_USAGE_ERROR(load_own_files(folder.path(), {.client_column = "who"}), "client-column", "'who'", "folder");
}

TEST_CASE("pictures that cannot be read are refused by name") {
  const TemporaryFolder folder;
  write_pets(folder);
  const auto refused = [&](const std::string& name, const std::string& bytes, std::string_view why) {
    put(folder / name, bytes);
    CHECK_FAILURE(load_own_files(folder.path(), {}), name, why);
    fs::remove(folder / name);
  };
  put_png(folder / "train/cat/big.png", 3, 1, 9);
  CHECK_FAILURE(load_own_files(folder.path(), {}), "big.png", "9x9x3", "8x8x3");
  fs::remove(folder / "train/cat/big.png");
  refused("train/cat/z.png", "GIF89a", "neither a PNG nor a JPEG");
  refused("train/cat/z.png", "", "neither");
  const std::string good = png(plain(3, 1), kSide, kSide, 3);
  refused("train/cat/z.png", good.substr(0, good.size() / 2), "PNG");
  refused("train/cat/z.jpg", jpeg(3, 50).substr(0, 200), "JPEG");
  std::string huge = good;
  huge.replace(16, 4, "\x7f\xff\xff\xff");
  refused("train/cat/z.png", huge, "z.png");
  fs::remove_all(folder / "train");
  CHECK_FAILURE(load_own_files(folder.path(), {}), "none called 'train'");
  CHECK_FAILURE(load_own_files(folder.path() / "test/cat", {.format = FileForm::pictures}), "no images");
}

TEST_CASE("where rows are protected the shape is named, and a file that cannot be read is a black picture") {
  const TemporaryFolder folder;
  write_pets(folder);
  ReadSettings settings{.class_names = "cat,dog", .rows_are_protected = true};
  CHECK_FAILURE(load_own_files(folder.path(), settings), "--shape");
  settings.shape = "8x8x3";
  put(folder / "train/dog/9.png", "damaged");
  put_png(folder / "train/dog/8.png", 3, 99, 11);
  const DataPair pair = load_own_files(folder.path(), settings);
  CHECK(pair.train.labels == std::vector<Label>{0, 0, 0, 1, 1, 1, 1, 1});
  for (std::size_t i = std::size_t{6} * kSide * kSide * 3; i < pair.train.pixels.size(); ++i)
    REQUIRE(std::as_const(pair.train.pixels)[i] == 0);
}

}  // namespace fedstride::test::pictures_test
