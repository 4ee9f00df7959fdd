#include "partitions/label_distribution.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "core/error.hpp"
#include "core/files.hpp"
#include "tests/partitions/examples.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/refusal.hpp"

namespace fedstride::test::label_distribution_test {
namespace {

using Counts = std::vector<std::size_t>;

// The classes of each client of 100 rows of class 0, 60 of class 1 and 40 of class 2.
std::vector<Counts> dealt(const TemporaryFolder& folder, const std::string& text, int clients) {
  std::vector<std::uint16_t> labels(200, 0);
  for (std::size_t row = 100; row < 200; ++row) labels[row] = row < 160 ? 1 : 2;
  write_file(folder.path() / "mix", text);
  Example example(labels, 3, clients);
  std::vector<Counts> counts;
  for (const auto& rows : LabelDistribution({folder / "mix"}).assign(example.input)) {
    CHECK(std::ranges::is_sorted(rows));
    counts.push_back(class_counts(rows, example));
  }
  return counts;
}

}  // namespace

TEST_CASE("clients hold the classes in the proportions of the file, as many rows as the scarcest class allows") {
  const TemporaryFolder folder;
  // Asked of the classes: 1.5, 1, 0.5 of a size: 66.7, 60 and 80 rows are possible, so 60 each.
  const std::vector<Counts> expected{{30, 15, 15}, {30, 30, 0}, {30, 15, 15}};
  CHECK(dealt(folder, "0.5, 0.25, 0.25\n1,1,0\n\n2,1,1\n", 3) == expected);
  CHECK(dealt(folder, "\n[[0.5, 0.25, 0.25], [1, 1, 0], [2, 1, 1]]", 3) == expected);
  // As spreadsheets save them.
  CHECK(dealt(folder,
              "\xef\xbb\xbf"
              "0.5, 0.25, 0.25\r\n1,1,0\r\n2,1,1\r\n",
              3) == expected);
  CHECK(dealt(folder, "0.5, 0.25, 0.25\r1,1,0\r2,1,1", 3) == expected);
  CHECK(dealt(folder, "\xef\xbb\xbf[[0.5, 0.25, 0.25], [1, 1, 0], [2, 1, 1]]", 3) == expected);
  // All rows where the proportions are those of the classes.
  CHECK(dealt(folder, "0.5,0.3,0.2\n0.5,0.3,0.2\n", 2) == std::vector<Counts>{{50, 30, 20}, {50, 30, 20}});
}

TEST_CASE("what does not come out even is off by less than a row a class") {
  const TemporaryFolder folder;
  const auto counts = dealt(folder, "0.7,0.2,0.1\n0.1,0.2,0.7\n0.3,0.4,0.3\n", 3);
  const double size = std::min({100 / 1.1, 60 / 0.8, 40 / 1.1});
  const std::vector<std::vector<double>> shares{{0.7, 0.2, 0.1}, {0.1, 0.2, 0.7}, {0.3, 0.4, 0.3}};
  for (std::size_t client = 0; client < 3; ++client)
    for (std::size_t label = 0; label < 3; ++label)
      CHECK(std::abs(static_cast<double>(counts[client][label]) - size * shares[client][label]) < 1);
  CHECK(counts[0][2] + counts[1][2] + counts[2][2] == 40);
  // s is 40 / 1.1: the first k clients together have the whole rows of s times their shares, so the sizes are not all 36.
  CHECK(counts == std::vector<Counts>{{25, 7, 3}, {4, 7, 26}, {11, 15, 11}});
}

TEST_CASE("sizes are equal but for the rounding of each class") {
  const TemporaryFolder folder;
  const auto counts = dealt(folder, "1,1,1\n1,1,1\n1,1,1\n", 3);  // s is 40: 13 1/3 of each class
  CHECK(counts == std::vector<Counts>{{13, 13, 13}, {13, 13, 13}, {14, 14, 14}});
}

TEST_CASE("files that are no distributions are refused with the reason") {
  const TemporaryFolder folder;
  CHECK_NOTHROW(dealt(folder, "1,1,1\n1,1,1\n", 2));
  for (const std::string text : {"a,b,c\n", "1,,1\n", "[[1, 1, \"1\"]]", "[1, 1, 1]", "[[1, 1, 1]"})
    CHECK_FAILURE(dealt(folder, text, 1), folder / "mix", "CSV", "JSON");
  CHECK_USAGE_ERROR(dealt(folder, "1,1,1\n", 2), "clients", "2", folder / "mix", "1");
  CHECK_USAGE_ERROR(dealt(folder, "1,1\n", 1), folder / "mix", "client 0", "2", "3");
  CHECK_FAILURE(dealt(folder, "1,1,1\n1,-1,1\n", 2), folder / "mix", "client 1", "-1", "0 to 1e15");
  CHECK_FAILURE(dealt(folder, "1,nan,1\n", 1), folder / "mix", "client 0", "nan", "0 to 1e15");
  CHECK_FAILURE(dealt(folder, "0,0,0\n", 1), folder / "mix", "client 0");
  std::string many;
  for (int i = 0; i < 60; ++i) many += "0,0,1\n";
  CHECK_FAILURE(dealt(folder, many, 60), folder / "mix", "client 0", "class 2", "40");
  Example example({0, 1}, 2, 1);
  CHECK_USAGE_ERROR(LabelDistribution{}.assign(example.input), "distribution-file");
}

}  // namespace fedstride::test::label_distribution_test
