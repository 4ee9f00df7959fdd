#include "data/data_folder.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>

#include "data/datasets.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::data_folder_test {
namespace {

/// Sets a variable of the environment (nothing: unsets it) and puts it back at the end.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    if (value != nullptr)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
  ~Variable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("data lie in --data-dir, else FEDSTRIDE_DATA, else XDG_CACHE_HOME/fedstride, else ~/.cache/fedstride") {
  const Variable data("FEDSTRIDE_DATA", "/a");
  const Variable cache("XDG_CACHE_HOME", "/b");
  const Variable home("HOME", "/c");
  CHECK(data_folder({"/d"}) == "/d");
  CHECK(data_folder({}) == "/a");
  const Variable no_data("FEDSTRIDE_DATA", nullptr);
  CHECK(data_folder({}) == "/b/fedstride");
  const Variable no_cache("XDG_CACHE_HOME", "");
  CHECK(data_folder({}) == "/c/.cache/fedstride");
  const Variable no_home("HOME", nullptr);
  CHECK_FAILURE(data_folder({}), "--data-dir", "FEDSTRIDE_DATA");
}

TEST_CASE("a set that is not there: one line says where it was looked for and how to get it") {
  const TemporaryFolder folder;
  CHECK_FAILURE(load_dataset("cifar10", {folder.path().string()}), folder / "cifar10", "fedstride data get cifar10");
  const std::string mine = error_of([&] { load_dataset("file", own(folder.path().string())); });
  CHECK(names(mine, {"train.csv"}));
  CHECK_FALSE(contains(mine, "data get"));
  CHECK_FAILURE(load_dataset("file", own(folder / "nowhere.csv")), "'" + (folder / "nowhere.csv") + "'");
}

TEST_CASE("the system's folder is looked into last, and not where --data-dir says where to look") {
  const TemporaryFolder folder;
  const std::string system = (folder / "system");
  const DataPlace place{.name = "x", .file = "f", .system_folder = system};
  write(folder / "system/f.gz", "");
  const Variable data("FEDSTRIDE_DATA", (folder / "data").c_str());
  CHECK(find_dataset({}, place) == system);
  CHECK_FAILURE(find_dataset({(folder / "data")}, place), "'x'");
  write(folder / "data/x/f", "");
  CHECK(find_dataset({}, place) == folder / "data/x");
}

TEST_CASE("an unknown data set names the nearest one and all there are") {
  CHECK_USAGE_ERROR(load_dataset("cifer10", {}), "dataset", "'cifer10'", "'cifar10'");
  for (const auto& source : dataset_sources()) CHECK_USAGE_ERROR(load_dataset("cifer10", {}), source.name);
}

}  // namespace fedstride::test::data_folder_test
