#include <doctest/doctest.h>

#include "data/datasets.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::cifar_test {
namespace {

/// One record: the label bytes, then 3072 pixels of which pixel i is (start + i) mod 251.
std::string record(std::initializer_list<int> labels, int start) {
  std::string bytes;
  for (const int label : labels) bytes += static_cast<char>(label);
  for (int i = 0; i < 3072; ++i) bytes += static_cast<char>((start + i) % 251);
  return bytes;
}

void write_cifar10(const std::filesystem::path& folder) {
  for (int i = 1; i <= 5; ++i)
    write(folder / ("data_batch_" + std::to_string(i) + ".bin"), record({i}, i) + record({9 - i}, 10 + i));
  write(folder / "test_batch.bin", record({7}, 100));
}

}  // namespace

TEST_CASE("CIFAR-10's five training files are read in order, pixels as they are") {
  const TemporaryFolder folder;
  write_cifar10(folder / "cifar10");
  const DataPair pair = load_dataset("cifar10", {folder.path().string()});
  CHECK(pair.train.labels == std::vector<Label>{1, 8, 2, 7, 3, 6, 4, 5, 5, 4});
  CHECK(pair.test.labels == std::vector<Label>{7});
  REQUIRE(pair.train.pixels.size() == 10 * 3072);
  CHECK(pair.train.pixels[0] == 1);
  CHECK(pair.train.pixels[3 * 3072 + 250] == 11 + 1 + 250 - 251);
  CHECK(pair.train.shape == Shape{32, 32, 3});
  CHECK(pair.train.classes == 10);
  CHECK(pair.train.class_names[9] == "truck");
  CHECK(pair.test.name == "cifar10");
  CHECK(pair.test.mean == pair.train.mean);
}

TEST_CASE("CIFAR-10's class order deals cars and trucks first, as the paper's clients have them") {
  const TemporaryFolder folder;
  write_cifar10(folder / "cifar10");
  CHECK(load_dataset("cifar10", {folder.path().string()}).train.class_order == std::vector<int>{1, 9, 0, 8, 3, 5, 2, 6, 4, 7});
}

TEST_CASE("CIFAR-10 is found under the archive's own folder name and directly in --data-dir") {
  const TemporaryFolder folder;
  write_cifar10(folder / "cifar-10-batches-bin");
  CHECK(load_dataset("cifar10", {folder.path().string()}).train.size() == 10);
  CHECK(load_dataset("cifar10", {(folder / "cifar-10-batches-bin")}).train.size() == 10);
}

TEST_CASE("CIFAR-100 gives the fine labels") {
  const TemporaryFolder folder;
  write(folder / "cifar100/train.bin", record({19, 99}, 0) + record({3, 42}, 1));
  write(folder / "cifar100/test.bin", record({0, 7}, 2));
  const DataPair pair = load_dataset("cifar100", {folder.path().string()});
  CHECK(pair.train.labels == std::vector<Label>{99, 42});
  CHECK(pair.train.classes == 100);
  CHECK(pair.train.class_order.size() == 100);
  CHECK(pair.train.pixels[3072] == 1);
  CHECK(pair.test.size() == 1);
}

TEST_CASE("a fraction of a CIFAR record is an error that names the file") {
  const TemporaryFolder folder;
  write_cifar10(folder / "cifar10");
  write(folder / "cifar10/data_batch_3.bin", record({1}, 0) + "x");
  CHECK_FAILURE(load_dataset("cifar10", {folder.path().string()}), "data_batch_3.bin", "3074", "3073");
}

TEST_CASE("a CIFAR label out of range is an error that names file, record and label") {
  const TemporaryFolder folder;
  write_cifar10(folder / "cifar10");
  write(folder / "cifar10/data_batch_2.bin", record({9}, 0) + record({10}, 0));
  CHECK_FAILURE(load_dataset("cifar10", {folder.path().string()}), "data_batch_2.bin", "record 1", "10", "0 to 9");
}

TEST_CASE("a missing CIFAR file and a set without records are errors") {
  const TemporaryFolder folder;
  write_cifar10(folder / "cifar10");
  std::filesystem::remove(folder / "cifar10/data_batch_4.bin");
  CHECK_FAILURE(load_dataset("cifar10", {folder.path().string()}), "data_batch_4.bin");
  write_cifar10(folder / "cifar10");
  write(folder / "cifar10/test_batch.bin", "");
  CHECK_FAILURE(load_dataset("cifar10", {folder.path().string()}), "test_batch.bin");
}

TEST_CASE("a set whose labels are all 0 is refused") {
  const TemporaryFolder folder;
  write(folder / "train.csv", "1,0\n2,0\n");
  CHECK_FAILURE(load_dataset("file", own(folder.path())), "'file'");
}

TEST_CASE("the hash follows every pixel and label of both parts, and not the name") {
  const TemporaryFolder folder;
  const auto hash = [&](int label, int start) {
    write(folder / "cifar100/train.bin", record({0, 0}, 0) + record({0, 1}, 0));
    write(folder / "cifar100/test.bin", record({0, label}, start));
    return load_dataset("cifar100", {folder.path().string()}).hash;
  };
  const std::string first = hash(0, 0);
  CHECK(first.size() == 64);
  CHECK(hash(0, 0) == first);
  CHECK(hash(1, 0) != first);
  CHECK(hash(0, 1) != first);
}

}  // namespace fedstride::test::cifar_test
