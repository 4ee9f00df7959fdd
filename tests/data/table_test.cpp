#include "data/table.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "data/datasets.hpp"
#include "tests/data/files.hpp"

namespace fedstride::test::table_test {
namespace {

Dataset table(std::string_view text, const TableFormat& format = {}) {
  const TemporaryFolder folder;
  return read_table(write(folder / "t.csv", text), format);
}

std::string error(std::string_view text, const TableFormat& format = {}) {
  return error_of([&] { table(text, format); });
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
  CHECK(contains(error("1,2,0\nx,2,0\n"), "line 2: field 1 is 'x', which is no number"));
  CHECK(contains(error("a,b\nc,d\n"), "line 2: field 1 is 'c'"));
}

TEST_CASE("a first line of which only some fields are numbers is neither a header nor a record, and is not lost") {
  CHECK(contains(error("5.1,?,3,0\n1,2,3,1\n"),
                 "line 1: field 2 is '?', which is no number, and field 1 is '5.1', which is one; valid: a record, all "
                 "numbers, or a header without a number"));
  CHECK(contains(error("5.1,,3,0\n1,2,3,1\n"), "line 1: field 2 is ''"));
  CHECK(contains(error("0,1,label\n1,2,1\n"), "line 1: field 3 is 'label'"));
  CHECK(table("\"a\",,c\n1,2,0\n").features == std::vector<float>{1, 2});
  CHECK(table("1,2,0\n3,4,1\n").labels.size() == 2);
}

TEST_CASE("what is no finite number is an error that names line and field") {
  CHECK(contains(error("1,2,0\n1,,0\n"), "line 2: field 2 is ''"));
  CHECK(contains(error("1,2,0\n1,nan,0\n"), "line 2: field 2 is 'nan'"));
  CHECK(contains(error("1,2,0\n1,inf,0\n"), "line 2: field 2 is 'inf'"));
  CHECK(contains(error("1,2,0\n1,1e39,0\n"), "line 2: field 2 is '1e39'"));
  CHECK(contains(error("1,2,0\n1,2x,0\n"), "field 2 is '2x'"));
}

TEST_CASE("a line with another number of fields is an error") {
  CHECK(contains(error("1,2,0\n1,2,3,0\n"), "line 2: 4 fields; there must be 3"));
  CHECK(contains(error("1,2,0\n2,0\n"), "line 2: 2 fields; there must be 3"));
  CHECK(contains(error("1\n2\n"), "one column"));
}

TEST_CASE("a label that is no whole number or out of range is an error that names it") {
  CHECK(contains(error("1,0.5\n"), "line 1: label '0.5' is out of range"));
  CHECK(contains(error("1,-1\n"), "label '-1' is out of range; valid: whole numbers from 0 to 65535"));
  CHECK(contains(error("1,65536\n"), "label '65536'"));
  CHECK(contains(error("1,8\n", {.first_label = 1, .classes = 7}), "valid: whole numbers from 1 to 7"));
  CHECK(table("1,3.0\n").labels == std::vector<Label>{3});
}

TEST_CASE("an empty table, a header alone and a line without end are errors") {
  CHECK(contains(error(""), "holds no record"));
  CHECK(contains(error("a,b\n"), "holds no record"));
  CHECK(contains(error(std::string(2'000'000, '1')), "a line of more than"));
}

TEST_CASE("columns are standardised by the training rows; a constant column stays finite") {
  Dataset data = table("1,7,0\n3,7,1\n5,7,1\n");
  standardise(data);
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
  CHECK(contains(error_of([&] { load_dataset("covertype", {folder.path().string()}); }), "line 1: 3 fields; there must be 55"));
}

TEST_CASE("csv: --data-dir names one file, or a folder with train.csv and perhaps test.csv") {
  const TemporaryFolder folder;
  const auto rows = [](int count) {
    std::string text = "x,y\n";
    for (int i = 0; i < count; ++i) text += std::to_string(i) + "," + std::to_string(i % 3) + "\n";
    return text;
  };
  const auto file = write(folder / "mine.csv", rows(12));
  CHECK(load_dataset("csv", {file.string()}).test.size() == 2);
  write(folder / "two/train.csv", rows(12));
  CHECK(load_dataset("csv", {(folder / "two")}).train.size() == 10);
  write(folder / "two/test.csv", "1,4\n");
  const DataPair pair = load_dataset("csv", {(folder / "two")});
  CHECK(pair.train.size() == 12);
  CHECK(pair.test.size() == 1);
  CHECK(pair.train.classes == 5);
  CHECK(pair.test.mean == pair.train.mean);
  write(folder / "two/test.csv", "1,2,0\n");
  CHECK(contains(error_of([&] { load_dataset("csv", {(folder / "two")}); }), "3 fields; there must be 2"));
  write(folder / "tiny.csv", "1,1\n");
  CHECK(contains(error_of([&] { load_dataset("csv", {(folder / "tiny.csv")}); }), "at least two rows"));
}

}  // namespace fedstride::test::table_test
