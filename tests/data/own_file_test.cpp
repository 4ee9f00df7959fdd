#include "data/files/readers.hpp"

#include <doctest/doctest.h>

#include "data/datasets.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::own_file_test {
namespace {

DataPair loaded(const std::string& path) { return load_dataset("file", own(path)); }

}  // namespace

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

}  // namespace fedstride::test::own_file_test
