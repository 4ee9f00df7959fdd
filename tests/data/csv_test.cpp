#include "data/files/readers.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "data/datasets.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::csv_test {
namespace {

DataPair loaded(const std::string& text, const ReadSettings& read = {}) {
  const TemporaryFolder folder;
  return load_dataset("file", own(write(folder / "t.csv", text), read));
}

/// All rows of the file, as they lie there.
Dataset rows_of(const std::string& text, const ReadSettings& read = {}) {
  const TemporaryFolder folder;
  return load_own_rows("file", own(write(folder / "t.csv", text), read)).train;
}

bool says(const DataPair& pair, const std::vector<std::string>& words) {
  return std::ranges::any_of(pair.notes, [&](const std::string& note) { return names(note, words); });
}

const std::string kIris =
    "site,length,width,kind\nb,5.1,3.5,setosa\na,7.0,3.2,versicolor\nb,6.3,3.3,virginica\na,4.9,3.0,setosa\n";

}  // namespace

TEST_CASE("label and client are columns by name, and words become classes in order") {
  const DataPair pair = loaded(kIris, reading("kind", "site"));
  CHECK(pair.train.form().text() == "1x1x2, 3 classes");
  CHECK(pair.train.class_names == std::vector<std::string>{"setosa", "versicolor", "virginica"});
  CHECK(pair.train.client_names == std::vector<std::string>{"b", "a"});
  CHECK(says(pair, {"'kind'", "'site'", "2", "'length', 'width'"}));
}

TEST_CASE("columns may be numbers from 1, with or without a header; the last is the label unless it is the client") {
  const std::string no_header = kIris.substr(kIris.find('\n') + 1);
  const DataPair pair = loaded(no_header, reading("4", "1"));
  CHECK(pair.train.classes == 3);
  CHECK(says(pair, {"column 4", "column 1", "2"}));
  CHECK(loaded(kIris, reading("", "site")).train.classes == 3);
  CHECK(rows_of("1,2,0,x\n3,4,1,y\n", reading("", "4")).labels == std::vector<Label>{0, 1});
  CHECK_FAILURE(loaded(kIris, reading("sort")), "'sort'", "1 to 4", "site, length");
  CHECK_FAILURE(loaded(kIris, reading("5")), "'5'");
  CHECK_FAILURE(loaded(kIris, reading("site", "site")), "column 1");
}

TEST_CASE("labels that do not begin at 0 are numbered, and their texts are the names; those that do keep their numbers") {
  const DataPair from_3 = loaded("1,7\n2,3\n3,3\n");
  CHECK(from_3.train.classes == 2);
  CHECK(from_3.train.class_names == std::vector<std::string>{"3", "7"});
  CHECK(says(from_3, {"labels", "3", "7", "0", "1"}));
  CHECK(loaded("1,0\n2,5\n3,3\n").train.classes == 6);
  CHECK(rows_of("1,1\n2,2\n").labels == std::vector<Label>{1, 2});  // a client's own rows have the experiment's numbers
  CHECK_FAILURE(loaded("1,0\n2,70000\n"), "70000");
}

TEST_CASE("numbers with fractions are values to predict, and any can be; several columns make several") {
  const DataPair prices = loaded("1,2,0.5\n3,4,7\n5,6,1\n");
  CHECK(prices.train.targets == Targets::values);
  CHECK(says(prices, {"targets auto", "values"}));
  const DataPair two = loaded("a,b,c\n1,2,3\n4,5,6\n7,8,9\n", reading("b, c", "", TargetsAre::values));
  CHECK(two.train.form().text() == "1x1x1, 2 values");
  CHECK(loaded("a,b,c\n1,0,1\n4,0,0\n7,1,1\n", reading("b,c")).train.targets == Targets::flags);
  CHECK_FAILURE(loaded("1,2,0.5\n3,4,7\n", reading("", "", TargetsAre::classes)), "t.csv", "label");
  CHECK_FAILURE(loaded("1,x\n3,y\n", reading("", "", TargetsAre::values)), "targets", "values");
}

TEST_CASE("rows have the numbers of the file's records, whatever is held out, and it is said") {
  std::string text = "x,y\n";
  for (int row = 0; row < 30; ++row) text += std::to_string(row) + "," + std::to_string(row % 3) + "\n";
  const DataPair pair = loaded(text);
  CHECK(pair.test.size() >= 2);
  CHECK(pair.test.size() <= 9);
  CHECK(pair.test.size() + pair.train.size() == 30);
  CHECK(says(pair, {"test set", std::to_string(pair.test.size()), "30"}));
  for (const Dataset* part : {&pair.train, &pair.test}) {
    CHECK(part->file_rows.size() == part->size());
    for (std::size_t row = 0; row < part->size(); ++row) CHECK(part->features[row] == static_cast<float>(part->file_rows[row]));
  }
}

TEST_CASE("where there are clients about a sixth of each one's rows is held out") {
  std::string text;
  for (int row = 0; row < 400; ++row)
    text += std::to_string(row) + "," + (row < 120 ? "a" : row < 395 ? "b" : "c") + "," + std::to_string(row % 2) + "\n";
  const DataPair pair = loaded(text, reading("", "2"));
  std::vector<int> held(3, 0);
  for (const std::uint32_t client : pair.test.clients) ++held[client];
  CHECK(std::abs(held[0] - 20) <= 12);  // three deviations of a binomial
  CHECK(std::abs(held[1] - 46) <= 19);
  CHECK(held[2] <= 4);  // the first row of a client trains
}

TEST_CASE("no client loses its first row, and one row is held out at least") {
  const DataPair pair = loaded("1,a,0\n2,a,1\n3,b,0\n4,c,1\n5,c,1\n6,c,0\n7,d,0\n", reading("", "2"));
  CHECK(pair.test.size() >= 1);
  std::vector<int> left(4, 0);
  for (const std::uint32_t client : pair.train.clients) ++left[client];
  for (const int rows : left) CHECK(rows >= 1);
  const DataPair single = loaded("1,a,0\n2,b,1\n3,c,1\n", reading("", "2"));
  CHECK(single.test.size() == 1);
}

TEST_CASE("quotes, semicolons, tabs and gzip are taken as they come") {
  CHECK(rows_of("\"a, b\",c\n1,0\n2,1\n").features == std::vector<float>{1, 2});
  CHECK(rows_of("1; 2 ;0\n3;4;1\n").features == std::vector<float>{1, 2, 3, 4});
  CHECK(rows_of("1\t2\t0\n3\t4\t1\n").features == std::vector<float>{1, 2, 3, 4});
  CHECK(rows_of(gzipped("1,2,0\r\n3,4,1")).features == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("gaps and a missing label are errors with line and field") {
  CHECK_FAILURE(loaded("5.1,?,3,0\n1,2,3,1\n"), "line 1", "field 2", "'?'", "missing");
  CHECK_FAILURE(loaded("0,1,label\n1,2,1\n3,4,0\n"), "t.csv", "label");
  CHECK_FAILURE(loaded("1,2,0\n1,,0\n"), "line 2", "field 2", "''");
  CHECK_FAILURE(loaded("1,2,0\n1,2,\n"), "line 2", "field 3", "label");
  CHECK_FAILURE(loaded("1,2,0\n1,2,nan\n"), "line 2", "field 3", "label", "nan");
  CHECK_FAILURE(loaded("1,2,0\n1,2\n"), "line 2", "2", "3");
  CHECK_FAILURE(loaded("a,b\n"), "t.csv");
  for (const std::string& bytes : {std::string("1;2;0\n\0;3\n", 10), std::string("1;2;0\n3;\0\n", 10), std::string("1;0\n\0", 5)})
    CHECK_FAILURE(loaded(bytes), "t.csv");
  CHECK_FAILURE(loaded("1,,0\n", reading("", "2")), "field 2", "client");
}

TEST_CASE("a folder's test part has the same columns, and its words are the same classes") {
  const TemporaryFolder folder;
  write(folder / "train.csv", kIris);
  write(folder / "test.csv", "site,length,width,kind\na,1,2,virginica\nz,1,2,other\n");
  const DataPair pair = load_dataset("file", own(folder.path().string(), reading("", "site")));
  CHECK(pair.train.classes == 4);
  CHECK(pair.test.labels == std::vector<Label>{3, 0});
  CHECK(pair.test.clients == std::vector<std::uint32_t>{1, 2});
  write(folder / "test.csv", "site,width,length,kind\na,1,2,virginica\n");
  CHECK_FAILURE(load_dataset("file", own(folder.path().string(), reading("", "site"))), "test.csv", "train.csv");
}

}  // namespace fedstride::test::csv_test
