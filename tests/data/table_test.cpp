#include <doctest/doctest.h>

#include <cmath>

#include "data/datasets.hpp"
#include "data/files/readers.hpp"
#include "data/normalization.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::table_test {
namespace {

Dataset table(std::string_view text, const std::string& class_names = "") {
  const TemporaryFolder folder;
  const ReadSettings settings{.targets = TargetsAre::classes, .class_names = class_names};
  Assembly both("the table", "none", settings);
  read_csv(std::vector{TableFile{write(folder / "t.csv", text)}}, settings, both, false);
  return both.finish(class_names.empty()).train;
}

std::string covertype_line(int first, int label) {
  std::string line = std::to_string(first);
  for (int i = 1; i < 54; ++i) line += "," + std::to_string(i % 2);
  return line + "," + std::to_string(label) + "\n";
}

}  // namespace

TEST_CASE("a table is numbers with the label last; classes are one more than the largest label") {
  const Dataset data = table("1,2.5,0\n-3e2,+4, 2 \n\n0,0,1\n");
  CHECK(data.features == std::vector<float>{1, 2.5F, -300, 4, 0, 0});
  CHECK(data.labels == std::vector<Label>{0, 2, 1});
  CHECK(data.classes == 3);
  CHECK(data.shape == Shape{1, 1, 2});
}

TEST_CASE("a header line, Windows line ends, a missing last newline, semicolons, tabs and gzip are taken as they come") {
  const std::vector<float> features{1, 2, 3, 4};
  CHECK(table("height,width,label\n1,2,0\n3,4,1\n").features == features);
  CHECK(table("1,2,0\r\n3,4,1").features == features);
  CHECK(table("1;2;0\n3;4;1\n").features == features);
  CHECK(table("1\t2\t0\n3\t4\t1\n").features == features);
  CHECK(table(gzipped("1,2,0\n3,4,1\n")).features == features);
}

TEST_CASE("only the first line may be a header") {
  CHECK_FAILURE(table("1,2,0\nx,2,0\n"), "line 2", "field 1", "'x'", "not a number", "--drop-columns 1");
}

TEST_CASE("a first line of which some fields are numbers is a record, and is not lost as a header") {
  CHECK_FAILURE(table("5.1,?,3,0\n1,2,3,1\n"), "line 1", "field 2", "'?'", "missing", "--missing");
  CHECK_FAILURE(table("5.1,,3,0\n1,2,3,1\n"), "line 1", "field 2", "''", "missing");
  CHECK_FAILURE(table("0,1,label\n1,2,1\n3,4,0\n"), "t.csv");
  CHECK(table("\"a\",b,c\n1,2,0\n").features == std::vector<float>{1, 2});
  CHECK(table("1,2,0\n3,4,1\n").labels.size() == 2);
}

TEST_CASE("what is no finite number is an error that names line and field") {
  CHECK_FAILURE(table("1,2,0\n1,,0\n"), "line 2", "field 2", "''");
  CHECK_FAILURE(table("1,2,0\n1,nan,0\n"), "line 2", "field 2", "'nan'");
  CHECK_FAILURE(table("1,2,0\n1,inf,0\n"), "line 2", "field 2", "'inf'");
  CHECK_FAILURE(table("1,2,0\n1,1e39,0\n"), "line 2", "field 2", "'1e39'");
  CHECK_FAILURE(table("1,2,0\n1,2x,0\n"), "line 2", "field 2", "'2x'");
}

TEST_CASE("a line with another number of fields is an error") {
  CHECK_FAILURE(table("1,2,0\n1,2,3,0\n"), "line 2", "4", "3");
  CHECK_FAILURE(table("1,2,0\n2,0\n"), "line 2", "2", "3");
  CHECK_FAILURE(table("1\n2\n"), "t.csv");
}

TEST_CASE("a label that is no whole number or out of range is an error that names it") {
  CHECK_FAILURE(table("1,0.5\n"), "t.csv", "label");
  CHECK_FAILURE(table("1,-1\n"), "label -1", "0");
  CHECK_FAILURE(table("1,65536\n"), "label 65536", "0 to 65534");
  CHECK_FAILURE(table("1,8\n", "1,2,3"), "'8'", "class-names", "1, 2, 3");
  CHECK(table("1,3.0\n").labels == std::vector<Label>{3});
}

TEST_CASE("an empty table, a header alone and a line without end are errors") {
  CHECK_FAILURE(table(""), "t.csv");
  CHECK_FAILURE(table("a,b\n"), "t.csv");
  CHECK_FAILURE(table(std::string(2'000'000, '1')), "t.csv");
}

TEST_CASE("columns are standardized by the training rows; a constant column stays finite") {
  Dataset data = table("1,7,0\n3,7,1\n5,7,1\n");
  standardize(data);
  CHECK(data.mean == std::vector<float>{3, 7});
  CHECK(data.deviation[0] == doctest::Approx(std::sqrt(8.0 / 3)));
  CHECK(data.deviation[1] == 1);
}

TEST_CASE("covertype: labels 1 to 7 become classes 0 to 6, a sixth of the rows is the test part") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 60; ++i) text += covertype_line(i, 1 + i % 7);
  write(folder / "covertype/covtype.data.gz", gzipped(text));
  const DataPair pair = load_dataset("covertype", {folder.path().string()});
  CHECK(pair.train.size() + pair.test.size() == 60);
  CHECK(pair.test.size() >= 3);
  CHECK(pair.test.size() <= 20);
  CHECK_FALSE(pair.has_public_test);
  CHECK(pair.train.mean[0] == doctest::Approx(2959.36));  // as published, not of these rows
  CHECK(pair.train.deviation[53] == 1);
  CHECK(pair.train.shape.size() == 54);
  CHECK(pair.train.classes == 7);
  std::vector<int> seen(60, 0);
  for (const Dataset* part : {&pair.train, &pair.test})
    for (std::size_t row = 0; row < part->size(); ++row) {
      const int first = static_cast<int>(part->features[row * 54]);
      ++seen[static_cast<std::size_t>(first)];
      CHECK(part->labels[row] == first % 7);
    }
  CHECK(seen == std::vector<int>(60, 1));
  CHECK(load_dataset("covertype", {folder.path().string()}).hash == pair.hash);
}

TEST_CASE("covertype wants 54 columns") {
  const TemporaryFolder folder;
  write(folder / "covertype/covtype.data", "1,2,3\n");
  CHECK_FAILURE(load_dataset("covertype", {folder.path().string()}), "line 1", "3", "55");
}

TEST_CASE("covertype's labels are whole numbers from 1 to 7, and a file without some of them means the same by the others") {
  const TemporaryFolder folder;
  const auto load = [&](const std::string& text) {
    write(folder / "covertype/covtype.data", text);
    return load_dataset("covertype", {folder.path().string()});
  };
  CHECK_FAILURE(load(covertype_line(0, 3) + covertype_line(1, 8)), "'8'", "class-names");
  CHECK_FAILURE(load(covertype_line(0, 3) + covertype_line(1, 0)), "'0'", "class-names");
  CHECK_FAILURE(load(covertype_line(0, 3) + "1" + covertype_line(1, 5).substr(1, 108) + "5.5\n"), "covtype.data", "label");
  const DataPair pair = load(covertype_line(0, 3) + covertype_line(1, 3) + covertype_line(2, 3));
  CHECK(pair.train.classes == 7);
  CHECK(pair.train.labels.front() == 2);
  CHECK(pair.train.class_names[2] == "ponderosa pine");
}

TEST_CASE("csv: --data-dir names one file, or a folder with train.csv and perhaps test.csv") {
  const TemporaryFolder folder;
  const auto rows = [](int count) {
    std::string text = "x,y\n";
    for (int i = 0; i < count; ++i) text += std::to_string(i) + "," + std::to_string(i % 3) + "\n";
    return text;
  };
  const auto file = write(folder / "mine.csv", rows(12));
  CHECK(load_dataset("file", own(file.string())).test.size() == 2);
  write(folder / "two/train.csv", rows(12));
  CHECK(load_dataset("file", own(folder / "two")).train.size() == 10);
  write(folder / "two/test.csv", "1,4\n");
  const DataPair pair = load_dataset("file", own(folder / "two"));
  CHECK(pair.train.size() == 12);
  CHECK(pair.test.size() == 1);
  CHECK(pair.train.classes == 5);
  CHECK(pair.test.mean == pair.train.mean);
  write(folder / "two/test.csv", "1,2,0\n");
  CHECK_FAILURE(load_dataset("file", own(folder / "two")), "3", "2");
  write(folder / "tiny.csv", "1,1\n");
  CHECK_FAILURE(load_dataset("file", own(folder / "tiny.csv")), "two rows");
}

}  // namespace fedstride::test::table_test
