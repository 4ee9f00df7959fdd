#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "data/datasets.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::normalize_client_test {
namespace {

/// Oslo measures around 100 and 1, Rome around 10 and always 5; both have one test row beyond their training rows.
struct Towns {
  TemporaryFolder folder;
  std::string train =
      write(folder / "towns/train.csv", "town,a,b,y\nOslo,90,0,0\nOslo,110,2,1\nRome,8,5,0\nRome,10,5,1\nRome,12,5,0\n");
  std::string test = write(folder / "towns/test.csv", "town,a,b,y\nRome,14,6,1\nOslo,120,1,0\n");
  ReadSettings settings{.client_column = "town", .normalize = Normalize::client};

  DataPair load() const { return load_dataset("file", {.data = folder / "towns", .read = settings}); }
};

}  // namespace

TEST_CASE(
    "each client's rows are normalized by its own training rows, a constant column by deviation 1, and the hash is the data's") {
  const Towns towns;
  const DataPair pair = towns.load();
  CHECK(pair.train.client_names == std::vector<std::string>{"Oslo", "Rome"});
  const float third = std::sqrt(8.0F / 3);
  const std::vector<float> train = {-1, -1, 1, 1, -2 / third, 0, 0, 0, 2 / third, 0};
  const std::vector<float> test = {4 / third, 1, 2, 0};
  REQUIRE(pair.train.features.size() == train.size());
  for (std::size_t i = 0; i < train.size(); ++i) CHECK(pair.train.features[i] == doctest::Approx(train[i]));
  for (std::size_t i = 0; i < test.size(); ++i) CHECK(pair.test.features[i] == doctest::Approx(test[i]));
  CHECK(pair.train.mean == std::vector<float>{0, 0});
  CHECK(pair.train.deviation == std::vector<float>{1, 1});
  Towns by_rows;
  by_rows.settings.normalize = Normalize::rows;
  CHECK(pair.hash == by_rows.load().hash);
}

TEST_CASE("other data are normalized by the run's moments of their clients, and a client that it does not know is refused") {
  Towns towns;
  towns.settings.schema = std::make_shared<const Schema>(read_schema(schema_text(schema_of(towns.load())), "it"));
  towns.settings.normalize = Normalize::automatic;
  towns.settings.keeps_constants = towns.settings.is_test_part = true;
  const auto read = [&](const std::string& rows) {
    return load_dataset("file", {.data = write(towns.folder / "other.csv", "town,a,b,y\n" + rows), .read = towns.settings});
  };
  const DataPair other = read("Rome,10,7,1\nOslo,100,0,0\n");
  CHECK(other.test.features[0] == 0);
  CHECK(other.test.features[1] == 2);
  CHECK(other.test.features[2] == 0);
  CHECK(other.test.features[3] == -1);
  CHECK_FAILURE(read("Rome,10,7,1\nBern,100,0,0\n"), "row 1", "'Bern'", "Oslo, Rome");
  towns.settings.client_column.clear();
  CHECK_FAILURE(load_dataset("file", {.data = write(towns.folder / "other.csv", "a,b,y\n1,2,1\n"), .read = towns.settings}),
                "row 0", "no client", "Oslo, Rome");
}

TEST_CASE("clients' own moments are refused for protected rows, without clients, for pictures, and in a damaged schema") {
  Towns towns;
  const std::string text = schema_text(schema_of(towns.load()));
  std::string damaged = text;
  damaged.replace(damaged.find("\"client_moments\""), std::string::npos,
                  "\"client_moments\":[{\"client\":\"Oslo\",\"mean\":[1.0],\"deviation\":[1.0]}]}");
  CHECK_FAILURE(read_schema(damaged, "it"), "it", "'Oslo'");
  towns.settings.client_column.clear();
  towns.settings.drop_columns = "town";
  CHECK_USAGE_ERROR(towns.load(), "normalize is 'client'", "no natural clients", "--client-column");
  CHECK_USAGE_ERROR(load_dataset("synthetic", {.read = {.normalize = Normalize::client}}), "normalize is 'client'", "images");
  CHECK_USAGE_ERROR(load_dataset("fcube", {.read = {.normalize = Normalize::client, .rows_are_protected = true}}),
                    "normalize is 'client'", "accounted release", "private");
}

}  // namespace fedstride::test::normalize_client_test
