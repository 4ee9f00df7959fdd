// Missing inputs: named where they are, or dropped, filled in, marked.
#include "data/missing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "data/datasets.hpp"
#include "tests/data/npz_files.hpp"

namespace fedstride::test::missing_test {
namespace {

const std::string kTable =
    "age,weight,label\n1,10,0\n2,,1\n3,30,0\nNA,40,1\n5,50,0\n6,60,1\n7,70,0\n8,80,1\n9,90,0\n10,100,1\n11,?,0\n12,120,1\n";
constexpr std::size_t kRows = 12;

ReadSettings with(Missing missing) {
  ReadSettings read;
  read.missing = missing;
  return read;
}

DataPair loaded(const std::string& text, const ReadSettings& read = {}) {
  const TemporaryFolder folder;
  return load_dataset("file", own(write(folder / "t.csv", text), read));
}

/// The inputs of a row of the file, whichever part it is in.
std::vector<float> row_of(const DataPair& pair, Row wanted) {
  const std::size_t size = pair.train.shape.size();
  for (const Dataset* part : {&pair.train, &pair.test})
    for (std::size_t i = 0; i < part->size(); ++i)
      if (part->file_rows[i] == wanted)
        return {part->features.begin() + static_cast<std::ptrdiff_t>(i * size),
                part->features.begin() + static_cast<std::ptrdiff_t>((i + 1) * size)};
  return {};
}

/// The mean of a column over the training rows that have it.
float mean_of(const DataPair& pair, std::size_t column, const std::vector<Row>& without) {
  const std::size_t size = pair.train.shape.size();
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < pair.train.size(); ++i)
    if (std::ranges::find(without, pair.train.file_rows[i]) == without.end()) {
      sum += pair.train.features[i * size + column];
      ++count;
    }
  return static_cast<float>(sum / count);
}

bool says(const DataPair& pair, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(pair.notes, [&](const std::string& note) { return names(note, words); });
}

}  // namespace

TEST_CASE("a missing value is an error that names line, column and what can be done") {
  CHECK_FAILURE(loaded(kTable), "line 3", "field 2", "'weight'", "missing", "--missing", "drop", "mean", "zero", "indicator");
  for (const std::string field : {"", "?", "NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "None", "#N/A", "<NA>"})
    CHECK_FAILURE(loaded("1,2,0\n1," + field + ",1\n"), "line 2", "field 2", "missing");
  CHECK_FAILURE(loaded("1,2,0\n1,inf,1\n", with(Missing::mean)), "line 2", "field 2", "'inf'", "not finite");
}

TEST_CASE("drop leaves the row out as if it were not in the file") {
  const DataPair pair = loaded(kTable, with(Missing::drop));
  CHECK(pair.train.size() + pair.test.size() == kRows - 3);
  CHECK(says(pair, {"3 rows", "missing", "left out"}));
  const DataPair without =
      loaded("age,weight,label\n1,10,0\n3,30,0\n5,50,0\n6,60,1\n7,70,0\n8,80,1\n9,90,0\n10,100,1\n12,120,1\n");
  CHECK(pair.hash == without.hash);
  CHECK_FAILURE(loaded("a,b,label\n,1,0\n,2,1\n", with(Missing::drop)), "drop", "every training row");
}

TEST_CASE("zero is 0, and mean that of the training rows which have the column, also for held-out rows") {
  CHECK(row_of(loaded(kTable, with(Missing::zero)), 1) == std::vector<float>{2, 0});
  const DataPair pair = loaded(kTable, with(Missing::mean));
  CHECK(says(pair, {"3 missing values", "mean"}));
  const std::vector<Row> without_weight{1, 10};
  for (const Row row : without_weight) CHECK(row_of(pair, row)[1] == doctest::Approx(mean_of(pair, 1, without_weight)));
  CHECK(row_of(pair, 3)[0] == doctest::Approx(mean_of(pair, 0, {3})));
  CHECK(row_of(pair, 3)[1] == 40);
}

TEST_CASE("indicator adds a column of 0 and 1 for each column of numbers, which normalization leaves alone") {
  const DataPair pair = loaded(kTable, with(Missing::indicator));
  CHECK(pair.train.shape == Shape{1, 1, 4});
  CHECK(pair.train.binary_columns == 2);
  CHECK(row_of(pair, 0) == std::vector<float>{1, 10, 0, 0});
  CHECK(row_of(pair, 1)[2] == 0);
  CHECK(row_of(pair, 1)[3] == 1);
  CHECK(row_of(pair, 3)[2] == 1);
  CHECK(pair.train.mean[2] == 0);
  CHECK(pair.train.deviation[3] == 1);
  ReadSettings read = with(Missing::indicator);
  read.range = "0,100";
  const DataPair ranged = loaded(kTable, read);
  CHECK(ranged.train.mean == std::vector<float>{50, 50, 0, 0});
  CHECK(row_of(ranged, 1)[3] == 1);
  read.range = "5,100";  // its ends are none of an indicator
  CHECK(row_of(loaded(kTable, read), 0) == std::vector<float>{5, 10, 0, 0});
  read.range = "";
  read.mean = "1,2";
  read.deviation = "3";
  CHECK(loaded(kTable, read).train.mean == std::vector<float>{1, 2, 0, 0});
  CHECK(loaded(kTable, read).train.deviation == std::vector<float>{3, 3, 1, 1});
}

TEST_CASE("a NaN in an array is a missing value; an infinite one is refused whatever is said") {
  const TemporaryFolder folder;
  const auto load = [&](float odd, const ReadSettings& read) {
    std::vector<float> x;
    for (int i = 0; i < 8; ++i) x.push_back(i == 5 ? odd : static_cast<float>(i) + 0.5F);
    return load_dataset(
        "file", own(write(folder / "d.npz", npz_bytes({{"x", npy_bytes("<f4", "(4, 2)", bytes_of(x))},
                                                       {"y", npy_bytes("<i8", "(4,)", bytes_of<std::int64_t>({0, 1, 0, 1}))}})),
                    read));
  };
  CHECK_FAILURE(load(NAN, {}), "'x'", "example 2", "number 1", "missing", "--missing");
  CHECK_FAILURE(load(INFINITY, with(Missing::mean)), "'x'", "example 2", "number 1", "infinite");
  CHECK(row_of(load(NAN, with(Missing::zero)), 2) == std::vector<float>{4.5F, 0});
  CHECK(load(NAN, with(Missing::drop)).train.size() == load(7, {}).train.size() - 1);
  const std::vector<float> pictures(4 * 4, NAN);
  const auto path = write(folder / "p.npz", npz_bytes({{"x", npy_bytes("<f4", "(4, 2, 2)", bytes_of(pictures))},
                                                       {"y", npy_bytes("<i8", "(4,)", bytes_of<std::int64_t>({0, 1, 0, 1}))}}));
  CHECK_USAGE_ERROR(load_dataset("file", own(path, with(Missing::indicator))), "missing", "'indicator'", "2x2x1");
}

TEST_CASE("where rows are protected a missing value becomes what settings and its own row say, and no number of them is noted") {
  ReadSettings read = with(Missing::automatic);
  read.rows_are_protected = true;
  read.header = Header::yes;
  read.classes = 2;
  read.range = "0,100";
  const DataPair pair = loaded(kTable, read);
  CHECK(row_of(pair, 1) == std::vector<float>{2, 50});  // the middle of the range
  CHECK(says(pair, {"missing auto", "mean", "--missing"}));
  read.missing = Missing::zero;
  CHECK(row_of(loaded(kTable, read), 3) == std::vector<float>{0, 40});
  read.missing = Missing::indicator;
  const DataPair marked = loaded(kTable, read);
  CHECK(row_of(marked, 1) == std::vector<float>{2, 50, 0, 1});
  // Another row's values change none of these, and no note.
  std::string other = kTable;
  other.replace(other.find("5,50"), 4, "99,");
  const DataPair replaced = loaded(other, read);
  for (const Row row : {1U, 3U, 10U}) CHECK(row_of(replaced, row) == row_of(marked, row));
  CHECK(std::ranges::none_of(marked.notes,
                             [](const std::string& note) { return names(note, {"3 "}) && names(note, {"missing"}); }));
}

TEST_CASE("rows that clients bring are filled in with the experiment's mean") {
  const TemporaryFolder folder;
  const DataOptions options = own(write(folder / "t.csv", "1,,0\n2,4,1\n"), with(Missing::mean));
  Dataset rows = load_own_rows("file", options).train;
  fit(rows, {.form = {rows.shape, 2}, .mean = {1, 7}, .deviation = {1, 2}}, options.read);
  CHECK(std::vector<float>(rows.features.begin(), rows.features.end()) == std::vector<float>{1, 7, 2, 4});
}

}  // namespace fedstride::test::missing_test
