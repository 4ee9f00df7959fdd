#include "data/files/readers.hpp"

#include <doctest/doctest.h>

#include "data/datasets.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::own_binary_test {
namespace {

std::string idx(const std::vector<int>& sizes, const std::string& bytes) {
  std::string file{0, 0, 8, static_cast<char>(sizes.size())};
  for (const int size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(size >> shift);
  return file + bytes;
}

DataPair loaded(const std::string& path) { return load_dataset("file", own(path)); }

}  // namespace

TEST_CASE("idx files of any size and number of classes, in two to four dimensions, by the folder or by the images' name") {
  const TemporaryFolder folder;
  write(folder / "train-images-idx3-ubyte", idx({3, 2, 5}, std::string(30, '\x10')));
  write(folder / "train-labels-idx1-ubyte", idx({3}, std::string("\0\x19\x03", 3)));
  write(folder / "t10k-images-idx3-ubyte.gz", gzipped(idx({1, 2, 5}, std::string(10, '\x10'))));
  write(folder / "t10k-labels-idx1-ubyte", idx({1}, std::string("\x1e", 1)));
  const DataPair pair = loaded(folder.path().string());
  CHECK(pair.train.form().text() == "2x5x1, 31 classes");
  CHECK(pair.test.size() == 1);
  CHECK(loaded(folder / "train-images-idx3-ubyte").train.size() == 2);  // a file alone: one of three rows is held out
  const TemporaryFolder color;
  write(color / "train-images-idx4-ubyte", idx({2, 4, 4, 3}, std::string(96, '\x07')));
  write(color / "train-labels-idx1-ubyte", idx({2}, std::string("\0\1", 2)));
  CHECK(loaded(color.path().string()).train.shape == Shape{4, 4, 3});
}

TEST_CASE("idx files that are cut off, too long or without labels are errors, and claims cost no memory") {
  const TemporaryFolder folder;
  const std::string images = folder / "train-images-idx3-ubyte";
  const auto load = [&](const std::string& contents) {
    write(images, contents);
    return loaded(images);
  };
  CHECK_FAILURE(load(idx({2, 2, 2}, "12345678")), "train-labels-idx1-ubyte");
  write(folder / "train-labels-idx1-ubyte", idx({2}, std::string("\0\1", 2)));
  CHECK_FAILURE(load(idx({2, 2, 2}, "1234567")), images, "2", "1");
  CHECK_FAILURE(load(idx({2, 2, 2}, "123456789")), images, "2");
  CHECK_FAILURE(load(idx({3, 2, 2}, "12345678")), images, "3");
  CHECK_FAILURE(load(idx({2, 1 << 20, 1 << 18}, "1")), "274877906944");
  CHECK_FAILURE(load(idx({0, 2, 2}, "")), images);
}

TEST_CASE("CIFAR's form with one label byte, or two of which the second counts") {
  const TemporaryFolder folder;
  std::string two, one;
  for (int i = 0; i < 6; ++i) {
    two += std::string(1, '\x05') + static_cast<char>(i) + std::string(3072, static_cast<char>(i));
    one += static_cast<char>(i % 2) + std::string(3072, static_cast<char>(i));
  }
  write(folder / "fine.bin", two);
  write(folder / "plain.bin", one);
  CHECK(loaded(folder / "fine.bin").train.classes == 6);
  const DataPair plain = loaded(folder / "plain.bin");
  CHECK(plain.train.form().text() == "32x32x3, 2 classes");
  CHECK_FAILURE(loaded(write(folder / "short.bin", one.substr(1)).string()), folder / "short.bin");
}

TEST_CASE("a folder's files are found by name, and doubts are said") {
  const TemporaryFolder folder;
  const auto load = [&] { return loaded(folder.path().string()); };
  CHECK_FAILURE(load(), folder.path().string(), "train.npz");
  write(folder / "train.csv", "1,0\n2,1\n");
  write(folder / "train.npz", "PK");
  CHECK_FAILURE(load(), folder.path().string(), "train.npz", "--format");
  CHECK(load_dataset("file", own(folder.path().string(), as_form(FileForm::csv))).train.size() == 1);
  write(folder / "more_train.csv", "1,0\n2,1\n");
  CHECK_FAILURE(load_dataset("file", own(folder.path().string(), as_form(FileForm::csv))), folder.path().string());
  CHECK_FAILURE(loaded(folder / "nowhere"), folder / "nowhere");
  CHECK_USAGE_ERROR(load_dataset("file", {}), "'file'", "--data");
  CHECK_FAILURE(loaded(write(folder / "strange", std::string("\1\2\0\3", 4)).string()), folder / "strange");
}

}  // namespace fedstride::test::own_binary_test
