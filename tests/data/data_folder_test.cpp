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
  CHECK(contains(error_of([] { data_folder({}); }), "none of --data-dir, FEDSTRIDE_DATA"));
}

TEST_CASE("a set that is not there: one line says where it was looked for and how to get it") {
  const TemporaryFolder folder;
  const std::string error = error_of([&] { load_dataset("cifar10", {folder.path().string()}); });
  CHECK(contains(error, (folder / "cifar10")));
  CHECK(contains(error, "fedstride data get cifar10"));
  CHECK(!contains(error, "\n"));
  const std::string own = error_of([&] { load_dataset("csv", {folder.path().string()}); });
  CHECK(contains(own, "train.csv"));
  CHECK(!contains(own, "data get"));
  const std::string nowhere = error_of([&] { load_dataset("csv", {(folder / "nowhere.csv")}); });
  CHECK(contains(nowhere, "'" + (folder / "nowhere.csv") + "' does not exist"));
}

TEST_CASE("the system's folder is looked into last, and not where --data-dir says where to look") {
  const TemporaryFolder folder;
  const std::string system = (folder / "system");
  const DataPlace place{.name = "x", .file = "f", .system_folder = system};
  write(folder / "system/f.gz", "");
  const Variable data("FEDSTRIDE_DATA", (folder / "data").c_str());
  CHECK(find_dataset({}, place) == system);
  CHECK(contains(error_of([&] { find_dataset({(folder / "data")}, place); }), "'x' is not here"));
  write(folder / "data/x/f", "");
  CHECK(find_dataset({}, place) == folder / "data/x");
}

TEST_CASE("an unknown data set names the nearest one and all there are") {
  const std::string error = error_of([] { load_dataset("cifer10", {}); });
  CHECK(contains(error, "did you mean 'cifar10'?"));
  for (const auto& source : dataset_sources()) CHECK(contains(error, source.name));
}

}  // namespace fedstride::test::data_folder_test
