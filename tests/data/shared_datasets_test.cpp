#include "data/shared_datasets.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "data/datasets.hpp"

namespace fedstride::test::shared_datasets_test {
namespace {

std::atomic<int> loads = 0;

void add_counted() {
  static const bool added = [] {
    add_dataset({.name = "counted",
                 .summary = "ten rows, and how often they were read",
                 .files = "",
                 .place = {},
                 .is_published = true,
                 .load = [](const std::filesystem::path&) {
                   if (++loads == 1) throw failure("the first reading fails");
                   DataPair pair;
                   pair.train.shape = {1, 1, 2};
                   pair.train.classes = 2;
                   pair.train.features = {1, 2, 3, 4, 5, 6, 7, 8};
                   pair.train.labels = {0, 1, 0, 1};
                   pair.test = pair.train;
                   return pair;
                 }});
    return true;
  }();
  static_cast<void>(added);
}

}  // namespace

TEST_CASE("a data set is read once while data sets are shared; a reading that failed is tried again, a copy is one's own") {
  add_counted();
  loads = 0;
  {
    const SharedDatasets outer;
    CHECK_THROWS_AS(load_dataset("counted", {}), Error);
    DataPair first = load_dataset("counted", {});
    {
      const SharedDatasets inner;
      const DataPair second = load_dataset("counted", {});
      CHECK(second.hash == first.hash);
      CHECK(std::as_const(second.train.features).data() == std::as_const(first.train.features).data());
    }
    CHECK(loads == 2);
    first.train.features[0] = 9;
    CHECK(load_dataset("counted", {}).train.features == Borrowable<float>{1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(loads == 2);
    DataOptions others;
    others.read.normalize = Normalize::none;
    load_dataset("counted", others);
    CHECK(loads == 3);
  }
  load_dataset("counted", {});
  load_dataset("counted", {});
  CHECK(loads == 5);
}

TEST_CASE("threads that ask for a data set at once share one reading") {
  add_counted();
  loads = 1;
  const SharedDatasets shared;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([] { load_dataset("counted", {}); });
  threads.clear();
  CHECK(loads == 2);
}

}  // namespace fedstride::test::shared_datasets_test
