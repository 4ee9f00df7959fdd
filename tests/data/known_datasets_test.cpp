// Every data set that the program comes with: the built-in ones have a known size and form, the others official checksums.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "data/datasets.hpp"
#include "data/official.hpp"

namespace fedstride::test::known_datasets_test {
namespace {

struct Known {
  std::size_t train = 0;
  std::size_t test = 0;
  Shape shape = {};
  int classes = 0;
};
const std::map<std::string_view, Known> kKnown = {
    {"synthetic", {10000, 2000, {32, 32, 3}, 10}},
    {"synthetic-li", {7665, 869, {1, 1, 60}, 10}},
    {"fcube", {4000, 1000, {1, 1, 3}, 2}},
};

}  // namespace

TEST_CASE("every built-in data set has its known size and form, every other published one official checksums and a download") {
  for (const DatasetSource& source : shipped_datasets()) {
    if (!source.is_published) continue;
    const std::string name(source.name);
    if (!source.place.file.empty()) {
      const OfficialSet* official = official_set(name);
      CHECK_MESSAGE((official != nullptr && !official->files.empty() && !official->downloads.empty()), "data set '", name,
                    "' has no checksums and no download; write them in data/official.cpp");
      continue;
    }
    const auto known = kKnown.find(source.name);
    CHECK_MESSAGE(known != kKnown.end(), "data set '", name,
                  "' has no known size; write a line in kKnown of tests/data/known_datasets_test.cpp");
    if (known == kKnown.end()) continue;
    INFO("data set '", name, "'");
    const DataPair pair = load_dataset(name, {});
    CHECK(pair.train.size() == known->second.train);
    CHECK(pair.test.size() == known->second.test);
    CHECK(pair.train.shape == known->second.shape);
    CHECK(pair.train.classes == known->second.classes);
  }
}

}  // namespace fedstride::test::known_datasets_test
