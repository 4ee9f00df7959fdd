#include "data/files/binary.hpp"

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
  const TemporaryFolder colour;
  write(colour / "train-images-idx4-ubyte", idx({2, 4, 4, 3}, std::string(96, '\x07')));
  write(colour / "train-labels-idx1-ubyte", idx({2}, std::string("\0\1", 2)));
  CHECK(loaded(colour.path().string()).train.shape == Shape{4, 4, 3});
}

TEST_CASE("idx files that are cut off, too long or without labels are errors, and claims cost no memory") {
  const TemporaryFolder folder;
  const std::string images = folder / "train-images-idx3-ubyte";
  const auto error = [&](const std::string& contents) {
    write(images, contents);
    return error_of([&] { loaded(images); });
  };
  CHECK(contains(error(idx({2, 2, 2}, "12345678")), "train-labels-idx1-ubyte' is missing: the labels of"));
  write(folder / "train-labels-idx1-ubyte", idx({2}, std::string("\0\1", 2)));
  CHECK(contains(error(idx({2, 2, 2}, "1234567")), "is cut off: its header names 2 records, it holds 1"));
  CHECK(contains(error(idx({2, 2, 2}, "123456789")), "holds more than the 2 records"));
  CHECK(contains(error(idx({3, 2, 2}, "12345678")), "has 3 records"));
  CHECK(contains(error(idx({2, 1 << 20, 1 << 18}, "1")), "examples of 274877906944 bytes; at most"));
  CHECK(contains(error(idx({0, 2, 2}, "")), "holds no record"));
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
  CHECK(contains(error_of([&] { loaded(write(folder / "short.bin", one.substr(1)).string()); }),
                 "which is not a whole number of records"));
}

TEST_CASE("a folder's files are found by name, and doubts are said") {
  const TemporaryFolder folder;
  const auto error = [&] { return error_of([&] { loaded(folder.path().string()); }); };
  CHECK(contains(error(), "has no training file; a folder has train.npz"));
  write(folder / "train.csv", "1,0\n2,1\n");
  write(folder / "train.npz", "PK");
  CHECK(contains(error(), "has files of several forms, such as train.npz; say which with --format"));
  CHECK(load_dataset("file", own(folder.path().string(), as_form(FileForm::csv))).train.size() == 1);
  write(folder / "more_train.csv", "1,0\n2,1\n");
  CHECK(contains(error_of([&] { load_dataset("file", own(folder.path().string(), as_form(FileForm::csv))); }),
                 "there must be one for each part"));
  CHECK(contains(error_of([&] { loaded(folder / "nowhere"); }), "is not there; name a file or a folder"));
  CHECK(contains(error_of([] { load_dataset("file", {}); }), "data set 'file' needs --data FILE"));
  CHECK(contains(error_of([&] { loaded(write(folder / "strange", std::string("\1\2\0\3", 4)).string()); }),
                 "is of no form that is known"));
}

}  // namespace fedstride::test::own_binary_test
